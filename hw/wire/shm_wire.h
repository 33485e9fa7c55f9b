// SPDX-License-Identifier: BSD-2-Clause
//
// An Ethernet segment over shared memory: all cards of this host that name the same NET. Each pair
// shares two rings (shm_ring.h, shm_peer.h); frames are built and parsed in place. A card that is
// awake is reached without a system call; a sleeping card is woken through a socket. Cards that one
// thread serves find each other in LocalSegments instead.
//
// Frames need no ICRC here, unless a card asked for it: docs/reference/wire.md.
//
// A ring that is full holds back senders to that peer only. A peer that takes nothing for a while
// is given up on and its frames are dropped until it goes on, so that QPs that talk to it run into
// their timeouts. Senders that do not say where a frame goes (Ethernet, the RTL) find the wire held
// for a small part of the time, then frames for the full ring are dropped.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/poller.h"
#include "base/unique_fd.h"
#include "wire/factory.h"
#include "wire/local_segments.h"
#include "wire/shm_peer.h"
#include "wire/shm_places.h"

namespace dingo {

class ShmWire final : public Wire, private LocalMember {
  public:
    ShmWire(std::string_view net, const ShmCard& own, LocalSegments* local);
    ~ShmWire() override;

    std::span<std::byte> begin_frame(std::size_t max_len) override;

    bool full_by_address() const override { return true; }
    std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) override;

    bool needs_icrc() const override { return needs_icrc_; }
    void end_frame(std::size_t len) override { send(len, 0); }
    void end_frame_without_icrc(std::size_t len) override { send(len, kShmNoIcrc); }

    bool takes_trains() const override { return !needs_icrc_; }
    std::optional<std::span<std::byte>> begin_train(std::size_t max_len, unsigned packets,
                                                    std::uint64_t to) override;
    bool takes_references() const override;
    void end_frame_referring(std::size_t len, std::size_t offset,
                             std::span<const std::byte> payload, const Held& held) override;
    void gather() override;
    bool holds_enough() override;
    bool has_let_go() override;

    int fd() const override { return poller_.fd(); }

    void flush() override;
    unsigned receive(FrameSink& sink, unsigned budget) override;

    bool polled() const override { return true; }

    bool prepare_sleep() override;
    void woke() override;

    bool kicked() const override;
    std::string meeting_place() const override;

    /// When to give up on a peer whose ring is full, or that lets go of nothing.
    Nanoseconds next_deadline() const override;

    void advance(Nanoseconds now) override { now_ = now; }

    std::string describe() const override;
    WireStats stats() const override { return stats_; }

  private:
    /// The listener's socket or a peer's.
    class Watched final : public Pollable {
      public:
        Watched(ShmWire& wire, int fd)
            : wire_(wire), fd_(fd), id_(wire.poller_.add(fd, EPOLLIN, *this)) {}
        ~Watched() override { wire_.poller_.remove(id_); }
        void ready(std::uint32_t /*events*/) override { wire_.service_one(fd_); }

      private:
        ShmWire& wire_;
        const int fd_;
        const Poller::Id id_;
    };

    /// Senders that do not say where they send may be held for so long.
    static constexpr Nanoseconds kHoldAtOnce = 2'000'000;
    /// A peer that has been lent enough lets go of some within this, or it is lent no more.
    static constexpr Nanoseconds kLentPatience = 20'000'000;

    // Meeting peers (shm_meet.cpp).
    void join(const std::filesystem::path& dir);

    /// The others may be served meanwhile, so nothing that takes long happens with the gate held,
    /// and nothing fails after two have met.
    void meet_all(const std::vector<LocalMember*>& others);
    const std::filesystem::path& path() const override { return path_; }
    const ShmCard& card() const override { return own_; }
    void meet(std::unique_ptr<ShmPeer> peer) override;

    /// Whether the peer gets frames that go to all. A card that took our connection and has not
    /// said hello gets them for a while.
    bool hears(const ShmPeer& peer) const;

    /// Any frame may go to any peer.
    void ask_peers();

    /// False, with errno: no card is there.
    bool connect(const std::filesystem::path& path);
    void watch(int fd);

    /// Serves the sockets: new connections, closed ones, and kicks.
    void service();
    void service_one(int fd);

    /// Connects again to a card that was cut off while it stood still. Only if this side had
    /// connected; else the peer does.
    void reconnect();
    void accept_some();
    bool make_place(const ShmPeer& newcomer);
    void turn_away(ShmPeer& peer);

    /// Lets go of peers that are gone and whose frames were all delivered.
    void bury();

    // Frames that come (shm_receive.cpp).
    unsigned receive_from(ShmPeer& peer, FrameSink& sink, unsigned budget);
    void deliver(ShmPeer& peer, std::span<const std::byte> frame, FrameSink& sink);

    // Frames that leave (shm_send.cpp).
    /// The peer that the next frame probably goes to: the one that the last frame went to.
    ShmPeer* guess();
    ShmPeer* find(std::uint64_t mac);
    std::size_t ready_peers() const;
    Nanoseconds patience() const;

    /// Room in the ring of `peer`; when it is full none (`waits`), else room from which the frame
    /// is copied.
    std::span<std::byte> begin_at(ShmPeer* peer, std::size_t len, bool waits);
    /// Takes room for a frame in the ring of `peer`. False: it is full, or the peer is stuck.
    bool reserve_at(ShmPeer& peer, std::size_t len);

    /// Sends the frame in room_.
    void send(std::size_t len, std::uint32_t flags);
    void sent(std::size_t len, unsigned packets);

    /// Room in a peer's ring. Empty: it is full; then the peer may be stuck, or it is waited for.
    std::span<std::byte> reserve(ShmPeer& peer, std::size_t len);
    bool commit(ShmPeer& peer, std::size_t len, std::uint32_t flags);

    /// Copies a frame into a peer's ring. If the ring is full, the frame is held for the peer
    /// (`hold`) until the peer, or the time in which others may be held up, is given up on. False:
    /// it is not there; then it is held, or counted as lost.
    bool copy(ShmPeer& peer, std::span<const std::byte> frame, std::uint32_t flags, bool hold);
    bool may_hold();
    void end_hold();

    /// True when the held frame is out of the way, sent or dropped.
    bool send_held();

    // What is lent (shm_lend.cpp).
    bool may_refer(const ShmPeer& peer) const;
    void gather_from(ShmPeer& peer, bool all);

    const std::string net_;
    const ShmCard own_;
    LocalSegments* const local_;
    std::filesystem::path path_;
    Poller poller_;
    UniqueFd listener_;
    std::vector<std::unique_ptr<ShmPeer>> peers_;
    std::unordered_map<int, Watched> watched_;  ///< by descriptor
    unsigned budget_ = 0;                       ///< that is left of one service()
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

}  // namespace dingo
