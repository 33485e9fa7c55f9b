// SPDX-License-Identifier: BSD-2-Clause
//
// An Ethernet segment over shared memory: all cards of this host that name the same NET. Each pair
// shares two rings (shm_ring.h, shm_peer.h); frames are built and parsed in place. A card that is
// awake is reached without a system call; a sleeping card is woken through a socket. Cards that one
// thread serves find each other in LocalSegments instead.
//
// Frames need no ICRC here, unless a card asked for it: docs/reference/wire.md.
//
// A ring that is full holds back who sends to that peer, and nobody else. A peer that takes nothing
// for a while is given up on and its frames are dropped until it goes on: the QPs that talk to it
// shall run into their timeouts. Who does not say where a frame goes (Ethernet, the RTL) finds the
// wire held for a small part of the time, then frames for the full ring are dropped.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "wire/factory.h"
#include "wire/local_segments.h"
#include "wire/shm_net.h"
#include "wire/shm_peer.h"
#include "wire/shm_places.h"
#include "wire/socket.h"

namespace dingo {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPublishBytes = 32UL * 1024;  // the peer works while we build
constexpr std::size_t kReleaseBytes = kShmRingBytes / 8;
constexpr Nanoseconds kServiceEvery = 1'000'000;
// What is said at once, in kicks: who talks without end has a small part of this thread's time.
constexpr unsigned kServiceBudget = 32;
constexpr unsigned kServiceShare = 8;    // of one peer
constexpr unsigned kCostOfNewcomer = 2;  // beside what it says
constexpr unsigned kIdleRounds = 64;
constexpr Nanoseconds kReconnectEvery = 1'000'000'000;
// A peer may be descheduled for a few time slices. The only peer may be slow, too.
constexpr Nanoseconds kGiveUpAfter = 20'000'000;
constexpr Nanoseconds kGiveUpOnlyOneAfter = 200'000'000;
// A peer that has been lent enough lets go of some within this, or it is lent no more.
constexpr Nanoseconds kLentPatience = 20'000'000;
// Senders that do not say where they send may be held for so long, and again when ten times as much
// has passed.
constexpr Nanoseconds kHoldAtOnce = 2'000'000;
constexpr Nanoseconds kHoldShare = 10;
constexpr Nanoseconds kHoldAtLeast = 200'000;  // many rounds

constexpr std::uint64_t kGroupBit = 0x01'00'00'00'00'00;

/// Of a frame of at least kMinFrame bytes.
std::uint64_t destination_of(std::span<const std::byte> frame) {
    std::uint64_t octets = 0;
    std::memcpy(&octets, frame.data(), sizeof octets);
    return __builtin_bswap64(octets) >> 16;
}

class ShmWire final : public Wire, private LocalMember {
  public:
    ShmWire(std::string_view net, const ShmCard& own, LocalSegments* local)
        : net_(net), own_(own), local_(local) {
        epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
        if (!epoll_)
            throw_errno("shm wire: epoll", errno);
        join(shm_net_directory(net));
    }

    ~ShmWire() override {
        for (const auto& peer : peers_)
            if (peer->ready() && !peer->tx().local() && !peer->gone())
                gather_from(*peer, true);
        if (local_ != nullptr) {
            local_->remove(*this);
            const Gate::Hold hold(local_->gate());
            std::erase_if(peers_, [](const auto& peer) { return peer->fd() < 0; });
        }
        ::unlink(path_.c_str());
    }

    std::span<std::byte> begin_frame(std::size_t max_len) override {
        target_ = nullptr;
        packets_ = 1;
        if (max_len > kMaxFrame)
            return {};
        if (held_len_ != 0 && !send_held()) {
            stats_.tx_full++;
            return {};
        }
        ShmPeer* const peer = guess();
        // Where there is one peer only, nobody else is held up.
        return begin_at(peer, max_len, ready_peers() == 1);
    }

    bool full_by_address() const override { return true; }
    std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) override {
        target_ = nullptr;
        packets_ = 1;
        if (max_len > kMaxFrame)
            return {};
        if ((to & kGroupBit) != 0)
            return begin_at(guess(), max_len, ready_peers() == 1);
        ShmPeer* const peer = find(to);
        return begin_at(peer != nullptr ? peer : guess(), max_len, true);
    }

    bool needs_icrc() const override { return needs_icrc_; }
    void end_frame(std::size_t len) override { send(len, 0); }
    void end_frame_without_icrc(std::size_t len) override { send(len, kShmNoIcrc); }

    bool takes_trains() const override { return !needs_icrc_; }
    std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                    std::uint64_t to) override {
        ShmPeer* const peer = find(to);
        if (peer == nullptr || !peer->ready() || peer->stuck || !may_refer(*peer) || needs_icrc_ ||
            max_len > kMaxTrain)
            return std::nullopt;
        target_ = nullptr;
        if (!reserve_at(*peer, max_len)) {
            stats_.tx_full++;
            return room_ = {};
        }
        packets_ = packets;
        return room_;
    }

    bool takes_references() const override {
        return target_ != nullptr && may_refer(*target_) && !needs_icrc_;
    }
    void end_frame_referring(std::size_t len, std::size_t offset,
                             std::span<const std::byte> payload, const Held& held) override {
        const std::uint64_t mac = destination_of(room_);
        auto* const to = target_;
        const bool goes_there =
            to != nullptr && (packets_ > 1 || ((mac & kGroupBit) == 0 && find(mac) == to));
        std::optional<ShmReference> reference;
        if (goes_there && to->tx().local())
            reference = ShmReference{};
        else if (goes_there && !to->tx().refers_enough())
            reference = to->reference(payload);
        if (reference && reference->lent && held == nullptr)
            reference.reset();
        if (!reference) {
            std::memcpy(&room_[offset], payload.data(), payload.size());
            send(len, kShmNoIcrc);
            return;
        }
        guess_ = to;
        to->tx().commit_referring(len, offset, payload, held, *reference, packets_);
        if (to->tx().unpublished() >= kPublishBytes && !to->tx().local())
            to->publish();
        sent(len);
        stats_.tx_referred += packets_;
        target_ = nullptr;
    }
    void gather() override {
        for (const auto& peer : peers_) {
            if (!peer->ready() || !peer->tx().has_references() || peer->gone())
                continue;
            // Two that read each other's frames would wait for each other.
            if (reads_ && !peer->tx().local()) {
                gather_due_ = !peer->gather_unread() || gather_due_;
                continue;
            }
            gather_from(*peer, false);
            any_gone_ |= peer->gone();
        }
    }

    bool holds_enough() override {
        if (target_ == nullptr || target_->tx().local() || !may_refer(*target_) ||
            !target_->tx().lends_enough())
            return false;
        any_wait_ = true;
        target_->lent_since = std::min(target_->lent_since, now_);
        return !target_->keeps_lent;
    }
    bool has_let_go() override {
        bool any = false;
        if (!std::exchange(any_wait_, false))
            return false;
        for (const auto& peer : peers_) {
            if (peer->lent_since == kNever)
                continue;
            const bool more = peer->tx().lends_enough();
            const bool keeps = more && now_ - peer->lent_since >= kLentPatience;
            any |= !more || keeps != peer->keeps_lent;
            peer->keeps_lent = keeps;
            peer->lent_since = more ? peer->lent_since : kNever;
            any_wait_ |= more;
        }
        return any;
    }

    int fd() const override { return epoll_.get(); }

    void flush() override {
        if (held_len_ != 0)
            send_held();
        for (const auto& peer : peers_)
            if (peer->ready() && peer->tx().unpublished() != 0)
                peer->publish();
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        if (service_due_ || now_ - serviced_ >= kServiceEvery || ++idle_rounds_ >= kIdleRounds)
            service();
        unsigned done = 0;
        const std::size_t count = peers_.size();
        for (std::size_t i = 0; i < count && done < budget; i++) {
            ShmPeer& peer = *peers_[(first_ + i) % count];
            if (peer.ready() && peer.met())
                done += receive_from(peer, sink, budget - done);
        }
        if (count != 0)
            first_ = (first_ + 1) % count;
        if (any_gone_)
            bury();
        if (done != 0)
            idle_rounds_ = 0;
        return done;
    }

    bool polled() const override { return true; }

    bool prepare_sleep() override {
        bool quiet = true;
        for (const auto& peer : peers_) {
            if (!peer->ready() || !peer->met())
                continue;
            quiet &= peer->rx().arm() || peer->bad();
            quiet &= peer->lent_since == kNever || peer->keeps_lent || peer->tx().arm_lent();
            // Refused frames wait until there is room or the peer is given up on. This is signalled
            // once, because the QP may be gone by then and would not ask for room again.
            if (peer->full_since == kNever || peer->stuck)
                continue;
            if (!peer->tx().arm()) {
                peer->full_since = kNever;
                quiet = false;
            } else if (now_ - peer->full_since >= patience()) {
                peer->give_up();
                quiet = false;
            }
        }
        sleeps_ = quiet;
        if (!quiet)
            woke();
        return quiet;
    }

    void woke() override {
        for (const auto& peer : peers_) {
            if (!peer->ready())
                continue;
            peer->clear_kick();
            peer->rx().disarm();
            if (peer->full_since != kNever || peer->lent_since != kNever)
                peer->tx().disarm();
        }
        service_due_ = true;
        sleeps_ = false;
    }

    bool kicked() const override {
        return std::any_of(peers_.begin(), peers_.end(), [](const auto& p) { return p->kicked(); });
    }

    std::string meeting_place() const override {
        return own_.wants_icrc || !own_.references ? std::string() : path_.parent_path().string();
    }

    /// When to give up on a peer whose ring is full, or that lets go of nothing.
    Nanoseconds next_deadline() const override {
        Nanoseconds due = kNever;
        for (const auto& peer : peers_)
            if (peer->lent_since != kNever && !peer->keeps_lent)
                due = std::min(due, peer->lent_since + kLentPatience);
        for (const auto& peer : peers_)
            if (peer->full_since != kNever && !peer->stuck)
                due = std::min(due, peer->full_since + patience());
        if (held_len_ != 0 && ready_peers() > 1)
            due = std::min(due, held_since_ + hold_left_);
        return due;
    }

    void advance(Nanoseconds now) override { now_ = now; }

    std::string describe() const override {
        return fmt::format("shm {} ({}){}{}", net_, path_.parent_path().string(),
                           own_.wants_icrc ? ", icrc=on" : "", own_.references ? "" : ", refs=off");
    }
    WireStats stats() const override { return stats_; }

  private:
    void join(const fs::path& dir) {
        static std::atomic<unsigned> serial{0};
        path_ = dir / fmt::format("{:x}-{:x}", ::getpid(), serial++);
        const UniqueFd lock = lock_shm_net(dir);
        const auto local = local_ != nullptr ? local_->on(dir) : std::vector<LocalMember*>();
        for (const auto& entry : fs::directory_iterator(dir))
            if (entry.is_socket() &&
                std::none_of(local.begin(), local.end(),
                             [&](const auto* member) { return member->path() == entry.path(); }) &&
                !connect(entry.path()) && errno == EAGAIN)
                lost_.push_back(entry.path());  // too many are at its door
        listener_ = listen_shm(path_, kMaxShmPeers);
        watch(listener_.get());
        if (local_ != nullptr) {
            meet_all(local);
            local_->add(*this);
        }
        ask_peers();
    }

    /// The others may be served meanwhile, so nothing that takes long happens with the gate held,
    /// and nothing fails after two have met.
    void meet_all(const std::vector<LocalMember*>& others) {
        std::vector<std::unique_ptr<ShmPeer>> theirs;
        for (LocalMember* const other : others) {
            if (peers_.size() >= kMaxShmPeers)
                break;
            auto pair = ShmPeer::local_pair(own_, other->card());
            peers_.push_back(std::move(pair.first));
            theirs.push_back(std::move(pair.second));
        }
        const Gate::Hold hold(local_->gate());
        for (std::size_t i = 0; i < theirs.size(); i++)
            others[i]->meet(std::move(theirs[i]));
    }

    const fs::path& path() const override { return path_; }
    const ShmCard& card() const override { return own_; }
    void meet(std::unique_ptr<ShmPeer> peer) override {
        if (sleeps_)
            static_cast<void>(peer->rx().arm());  // it is empty
        peers_.push_back(std::move(peer));
        ask_peers();
    }

    bool may_refer(const ShmPeer& peer) const {
        return peer.takes_references() && patience_.trusts(peer, now_);
    }

    void gather_from(ShmPeer& peer, bool all) {
        peer.gather(patience_.most(now_), all);
        patience_.waited(peer.tx().take_waited());
        if (peer.bad())
            patience_.cut_one_off(now_);
    }

    /// Gets frames that are for all. Who takes our connection and says no hello does so for a
    /// while.
    bool hears(const ShmPeer& peer) const {
        return peer.ready() &&
               (peer.met() || peer.accepted == 0 || now_ - peer.accepted < kShmHelloTime);
    }

    /// Any frame may go to any peer.
    void ask_peers() {
        needs_icrc_ = own_.wants_icrc ||
                      std::any_of(peers_.begin(), peers_.end(),
                                  [this](const auto& p) { return hears(*p) && p->wants_icrc(); });
    }

    /// False, with errno: no card is there.
    bool connect(const fs::path& path) {
        auto peer = ShmPeer::connect(path, own_);
        if (peer != nullptr && !make_place(*peer)) {
            errno = EMFILE;
            return false;
        }
        if (peer != nullptr && peer->greet()) {
            peer->accepted = now_;
            watch(peer->fd());
            peers_.push_back(std::move(peer));
            return true;
        }
        const int error = errno;
        if (error == ECONNREFUSED)
            ::unlink(path.c_str());  // a killed card's
        errno = error;
        return false;
    }

    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
    }

    /// Serves the sockets: new connections, closed ones, and kicks.
    void service() {
        service_due_ = false;
        serviced_ = now_;
        idle_rounds_ = 0;
        std::array<epoll_event, 2 * kMaxShmPeers> events;
        const int n = ::epoll_wait(epoll_.get(), events.data(), events.size(), 0);
        unsigned budget = kServiceBudget;
        // Each time another one is the first.
        const unsigned first = n > 0 ? ++service_first_ % static_cast<unsigned>(n) : 0;
        for (unsigned i = 0; i < static_cast<unsigned>(std::max(n, 0)) && budget != 0; i++)
            service_one(events[(first + i) % static_cast<unsigned>(n)].data.fd, budget);
        for (const auto& peer : peers_) {
            peer->tell();
            // What is held goes though nothing more is sent to it.
            if (peer->ready())
                peer->tx().forget_received();
        }
        for (const auto& peer : peers_) {
            // From before there was a time.
            if (peer->accepted == 0 && !peer->met())
                peer->accepted = now_;
            if (peer->silent() && now_ - peer->accepted >= kShmHelloTime)
                turn_away(*peer);
        }
        if (!lost_.empty() && now_ - lost_looked_ >= kReconnectEvery)
            reconnect();
        ask_peers();
    }

    void service_one(int fd, unsigned& budget) {
        if (fd == listener_.get()) {
            accept_some(budget);
            return;
        }
        unsigned share = std::min(budget, kServiceShare);
        budget -= share;
        for (const auto& peer : peers_) {
            if (peer->fd() != fd)
                continue;
            share = peer->service(share);
            any_gone_ |= peer->gone();
        }
        budget += share;
    }

    /// A card that was cut off, as it had stopped, may be back. Who connected does so again.
    void reconnect() {
        lost_looked_ = now_;
        std::erase_if(lost_, [this](const std::string& address) {
            return connect(address) || errno == ENOENT || errno == ECONNREFUSED;
        });
    }

    void accept_some(unsigned& budget) {
        while (budget != 0) {
            ForeignSocket fd(
                ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (!fd)
                return;
            auto peer = std::make_unique<ShmPeer>(std::move(fd), own_);
            peer->accepted = now_;
            budget -= std::min(budget, kCostOfNewcomer);
            budget = peer->service(budget);  // its hello came with the connection
            if (!peer->gone() && !make_place(*peer))
                continue;
            watch(peer->fd());
            any_gone_ |= peer->gone();
            peers_.push_back(std::move(peer));
        }
    }

    bool make_place(const ShmPeer& newcomer) {
        const ShmPlace place = shm_place(peers_, newcomer, now_);
        if (place.loser != nullptr)
            turn_away(*place.loser);
        return place.there;
    }
    void turn_away(ShmPeer& peer) {
        peer.turn_away();
        any_gone_ = true;
    }

    /// Lets go of peers that are gone and whose frames were all delivered.
    void bury() {
        any_gone_ = false;
        std::erase_if(peers_, [&](const auto& peer) {
            if (!peer->gone())
                return false;
            if (const std::string what = peer->stranger(); !what.empty())
                log_limit_.warn("shm wire: {}", what);
            if (peer->bad()) {
                stats_.rx_errors++;
            } else if (!peer->turned_away() && peer->ready() && peer->met() &&
                       !peer->rx().empty() && !peer->rx().gathering()) {
                any_gone_ = true;
                return false;
            }
            if (guess_ == peer.get())
                guess_ = nullptr;
            if (held_for_ == peer.get()) {
                stats_.tx_no_peer++;
                end_hold();
            }
            ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer->fd(), nullptr);  // it is closed later
            // One that has never answered may have taken us for one that says nothing.
            if (!peer->address().empty() && !peer->speaks_otherwise())
                lost_.push_back(peer->address());
            return true;
        });
        ask_peers();
    }

    unsigned receive_from(ShmPeer& peer, FrameSink& sink, unsigned budget) {
        ShmConsumer& rx = peer.rx();
        unsigned done = 0;
        while (done < budget) {
            const std::span<const std::byte> frame = rx.front();
            if (frame.empty())
                break;
            if (frame.size() < kMinFrame) {
                stats_.rx_short++;
            } else {
                stats_.rx_frames += rx.packets();
                stats_.rx_bytes += frame.size();
                deliver(peer, frame, sink);
            }
            done += std::min(rx.packets(), budget - done);
            rx.pop();
            if (std::exchange(gather_due_, false))
                gather();
            if (rx.unreleased() >= kReleaseBytes)
                peer.release();
        }
        peer.release();
        any_gone_ |= peer.gone();
        return done;
    }

    void deliver(ShmPeer& peer, std::span<const std::byte> frame, FrameSink& sink) {
        ShmConsumer& rx = peer.rx();
        Elsewhere payload;
        if ((rx.flags() & kShmElsewhere) != 0) {
            const std::uint64_t address = rx.payload();
            std::memcpy(&payload.at, &address, sizeof payload.at);
            payload.held = peer.holder();
        } else if ((rx.flags() & kShmHandedOver) != 0) {
            const std::uint64_t where = rx.payload();
            payload.at = peer.referred(where);
            if (payload.at == nullptr) {
                peer.break_off();
                return;
            }
            payload.held = peer.hold(where, payload.at, frame.size());
            stats_.rx_held += payload.held != nullptr ? rx.packets() : 0;
        }
        reads_ = (rx.flags() & kShmHandedOver) != 0;
        // The engine finds that a frame without the ICRC that was asked for is wrong.
        if (rx.packets() > 1 && !own_.wants_icrc)
            sink.on_train(frame, payload, rx.packets());
        else if (rx.packets() > 1)
            stats_.rx_errors++;
        else if (rx.flags() == 0 || own_.wants_icrc)
            sink.on_frame(frame);
        else
            sink.on_frame_without_icrc(frame, payload);
        reads_ = false;
    }

    /// The peer that the next frame probably goes to: the one that the last frame went to.
    ShmPeer* guess() {
        if (guess_ == nullptr || guess_->gone()) {
            guess_ = nullptr;
            for (const auto& peer : peers_)
                if (hears(*peer) && !peer->gone())
                    guess_ = peer.get();
        }
        return guess_;
    }

    ShmPeer* find(std::uint64_t mac) {
        if (target_ != nullptr && target_->mac() == mac && !target_->gone())
            return target_;
        if (guess_ != nullptr && guess_->mac() == mac && !guess_->gone())
            return guess_;
        for (const auto& peer : peers_)
            if (peer->mac() == mac && !peer->gone())
                return peer.get();
        return nullptr;
    }

    std::size_t ready_peers() const {
        return static_cast<std::size_t>(std::count_if(
            peers_.begin(), peers_.end(), [this](const auto& peer) { return hears(*peer); }));
    }

    Nanoseconds patience() const { return ready_peers() == 1 ? kGiveUpOnlyOneAfter : kGiveUpAfter; }

    /// Room in the ring of `peer`; when it is full none (`waits`), else room from which the frame
    /// is copied.
    std::span<std::byte> begin_at(ShmPeer* peer, std::size_t len, bool waits) {
        if (peer != nullptr && reserve_at(*peer, len))
            return room_;
        if (peer != nullptr && waits && !peer->stuck) {
            stats_.tx_full++;
            return {};
        }
        return room_ = std::span(scratch_).first(len);
    }
    /// Takes room for a frame in the ring of `peer`. False: it is full, or the peer is stuck.
    bool reserve_at(ShmPeer& peer, std::size_t len) {
        const std::span<std::byte> room = reserve(peer, len);
        if (room.empty())
            return false;
        target_ = &peer;
        room_ = room;
        return true;
    }

    /// Sends the frame in room_.
    void send(std::size_t len, std::uint32_t flags) {
        if (len == 0) {
            target_ = nullptr;
            return;
        }
        const std::span<const std::byte> frame = room_.first(len);
        const std::uint64_t mac = len >= kMinFrame ? destination_of(frame) : kGroupBit;
        ShmPeer* const to = (mac & kGroupBit) != 0 ? nullptr : find(mac);
        bool done = false;
        if (packets_ > 1 && target_ != nullptr) {
            guess_ = target_;
            done = commit(*target_, len, flags | shm_train_flags(packets_));
        } else if (to != nullptr) {
            guess_ = to;
            done = to == target_ ? commit(*to, len, flags) : copy(*to, frame, flags, true);
        } else {
            for (const auto& peer : peers_)
                if (peer.get() != target_ && hears(*peer))
                    done |= copy(*peer, frame, flags, false);
            if (target_ != nullptr)  // last: the frame lies there
                done |= commit(*target_, len, flags);
            else if (!done)
                stats_.tx_no_peer += ready_peers() == 0 ? 1 : 0;
        }
        target_ = nullptr;
        if (done)
            sent(len);
    }

    void sent(std::size_t len) {
        stats_.tx_frames += packets_;
        stats_.tx_bytes += len;
    }

    /// Room in a peer's ring. Empty: it is full; then the peer may be stuck, or it is waited for.
    std::span<std::byte> reserve(ShmPeer& peer, std::size_t len) {
        // One that takes nothing may have room for this frame: still nobody waits for it.
        const std::span<std::byte> room =
            peer.is_stuck() ? std::span<std::byte>() : peer.tx().reserve(len);
        if (!room.empty()) {
            peer.full_since = kNever;
            peer.stuck = false;
            return room;
        }
        any_gone_ |= peer.gone();
        if (peer.tx().unpublished() != 0)
            peer.publish();  // the peer must see these frames to make room
        if (peer.full_since == kNever || (peer.tx().moved() && !peer.stuck))
            peer.full_since = now_;
        if (!peer.stuck && (peer.gone() || now_ - peer.full_since >= patience()))
            peer.give_up();
        return {};
    }

    bool commit(ShmPeer& peer, std::size_t len, std::uint32_t flags) {
        peer.tx().commit(len, flags);
        if (peer.tx().unpublished() >= kPublishBytes)
            peer.publish();
        return true;
    }

    /// Copies a frame into a peer's ring. If the ring is full, the frame is held for the peer
    /// (`hold`) until the peer, or the time in which others may be held up, is given up on.
    bool copy(ShmPeer& peer, std::span<const std::byte> frame, std::uint32_t flags, bool hold) {
        const std::span<std::byte> room = reserve(peer, frame.size());
        if (!room.empty()) {
            std::memcpy(room.data(), frame.data(), frame.size());
            return commit(peer, frame.size(), flags);
        }
        if (!hold || peer.stuck || held_len_ != 0 || !may_hold()) {
            stats_.tx_dropped++;
            return false;
        }
        std::memcpy(held_.data(), frame.data(), frame.size());
        held_len_ = frame.size();
        held_flags_ = flags;
        held_for_ = &peer;
        held_since_ = now_;
        return true;
    }

    bool may_hold() {
        hold_left_ = std::min(kHoldAtOnce, hold_left_ + (now_ - hold_counted_) / kHoldShare);
        hold_counted_ = now_;
        return hold_left_ >= kHoldAtLeast || ready_peers() == 1;
    }
    void end_hold() {
        hold_left_ -= std::min(hold_left_, now_ - held_since_);
        hold_counted_ = now_;
        held_len_ = 0;
        held_for_ = nullptr;
    }

    /// True when the held frame is out of the way, sent or dropped.
    bool send_held() {
        const std::span<std::byte> room = reserve(*held_for_, held_len_);
        const bool over = ready_peers() > 1 && now_ - held_since_ >= hold_left_;
        if (room.empty() && !held_for_->stuck && !over)
            return false;
        if (room.empty()) {
            stats_.tx_dropped++;
        } else {
            std::memcpy(room.data(), held_.data(), held_len_);
            commit(*held_for_, held_len_, held_flags_);
        }
        end_hold();
        return true;
    }

    const std::string net_;
    const ShmCard own_;
    LocalSegments* const local_;
    fs::path path_;
    UniqueFd epoll_;
    UniqueFd listener_;
    std::vector<std::unique_ptr<ShmPeer>> peers_;
    WireStats stats_;
    Nanoseconds now_ = 0;
    Nanoseconds serviced_ = 0;
    bool service_due_ = true;
    unsigned service_first_ = 0;
    bool any_gone_ = false;
    bool any_wait_ = false;  ///< for some that is lent
    ShmPatience patience_;
    bool reads_ = false;       // a frame whose payload the peer cannot take back meanwhile
    bool gather_due_ = false;  // when that is over
    log::Limit log_limit_;
    bool needs_icrc_ = true;
    bool sleeps_ = false;  // from prepare_sleep() to woke()
    unsigned idle_rounds_ = 0;
    std::vector<std::string> lost_;  ///< cards that were there, to be connected to again
    Nanoseconds lost_looked_ = 0;
    std::size_t first_ = 0;  // the peer whose frames are received first in the next round

    ShmPeer* guess_ = nullptr;
    ShmPeer* target_ = nullptr;  // the peer whose ring has room_; null: scratch_ has it
    std::span<std::byte> room_;
    unsigned packets_ = 1;  // of the frame in room_; more than one: a train, to target_
    ShmPeer* held_for_ = nullptr;
    std::size_t held_len_ = 0;
    std::uint32_t held_flags_ = 0;
    Nanoseconds held_since_ = 0;
    Nanoseconds hold_left_ = kHoldAtOnce;  ///< for which a frame may be held, while others wait
    Nanoseconds hold_counted_ = 0;         ///< when that was counted
    std::array<std::byte, kMaxFrame> scratch_;
    std::array<std::byte, kMaxFrame> held_;
};

/// What an option of the wire says: auto is false, `other` is true.
bool is_other(std::string_view option, std::string_view name, std::string_view other) {
    const std::string_view value = option.substr(name.size() + 1);
    if (value != "auto" && value != other)
        throw WireError(
            fmt::format("shm wire: '{}': {} is auto or {}; write "
                        "shm[:NET][,icrc=auto|on][,refs=auto|off]",
                        option, name, other));
    return value == other;
}

}  // namespace

std::unique_ptr<Wire> make_shm_wire(std::string_view args, const WireOptions& options) {
    ShmCard own;
    own.mac = options.mac;
    for (std::size_t at; (at = args.rfind(',')) != args.npos; args = args.substr(0, at)) {
        const std::string_view option = args.substr(at + 1);
        if (option.starts_with("icrc="))
            own.wants_icrc = is_other(option, "icrc", "on");
        else if (option.starts_with("refs="))
            own.references = !is_other(option, "refs", "off");
        else
            break;  // of the net's name
    }
    return std::make_unique<ShmWire>(args.empty() ? "default" : args, own, options.local);
}

}  // namespace dingo
