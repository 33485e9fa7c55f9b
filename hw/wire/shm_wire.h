// SPDX-License-Identifier: BSD-2-Clause
//
// An Ethernet segment in shared memory: all cards of this host with the same NET. Each pair shares
// two rings (shm_ring.h, shm_peer.h); frames are built and parsed in place. A card that is awake is
// reached without a system call; a sleeping card is woken through a socket. Cards served by one
// thread find each other in LocalSegments instead.
//
// Frames need no ICRC here unless a card requests it: docs/reference/wire.md.
//
// A full ring holds back only senders to that peer. A peer that takes nothing for a while is given
// up on and its frames are dropped until it continues, so that QPs that talk to it time out.
// Senders that do not announce the destination (Ethernet, the RTL) are held back for a small share
// of the time, then frames for the full ring are dropped.
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
#include "wire/fair_start.h"
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

    /// The time to give up on a peer whose ring is full, or that releases nothing.
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

    /// Limit for holding back senders that do not announce the destination.
    static constexpr Nanoseconds kHoldAtOnce = 2'000'000;
    /// A peer at the lending limit must release some memory within this time, or gets copies
    /// instead.
    static constexpr Nanoseconds kLentPatience = 20'000'000;

    // Meeting peers (shm_meet.cpp).
    void join(const std::filesystem::path& dir);

    /// Other cards may be served meanwhile, so nothing that takes long happens with the gate held,
    /// and nothing fails after two cards have met.
    void meet_all(const std::vector<LocalMember*>& others);
    const std::filesystem::path& path() const override { return path_; }
    const ShmCard& card() const override { return own_; }
    void meet(std::unique_ptr<ShmPeer> peer) override;

    /// Returns true if the peer gets frames sent to all. A peer that accepted our connection and
    /// has not said hello gets them for a while, too.
    bool hears(const ShmPeer& peer) const;

    /// Updates needs_icrc_, as any frame may go to any peer.
    void ask_peers();

    /// Returns false with errno set if no card listens there.
    bool connect(const std::filesystem::path& path);
    void watch(int fd);

    /// Serves the sockets: new and closed connections, and messages.
    void service();
    void service_one(int fd);

    /// Reconnects to cards whose connection has ended although they still run, for example because
    /// one side was stopped for a while. Only for connections that this side had made; otherwise
    /// the peer reconnects.
    void reconnect();
    void accept_some();
    bool make_place(const ShmPeer& newcomer);
    void turn_away(ShmPeer& peer);

    /// Destroys peers that are gone and whose frames were all delivered.
    void bury();

    // Receiving frames (shm_receive.cpp).
    unsigned receive_from(ShmPeer& peer, FrameSink& sink, unsigned budget);
    void deliver(ShmPeer& peer, std::span<const std::byte> frame, FrameSink& sink);

    // Sending frames (shm_send.cpp).
    /// Guesses the peer of the next frame: the peer of the last one.
    ShmPeer* guess();
    ShmPeer* find(std::uint64_t mac);
    std::size_t ready_peers() const;
    Nanoseconds patience() const;

    /// Returns room in the ring of `peer`. If it is full: nothing with `waits`, else room in
    /// scratch_, from which the frame is copied.
    std::span<std::byte> begin_at(ShmPeer* peer, std::size_t len, bool waits);
    /// Reserves room for a frame in the ring of `peer`. Returns false if it is full or the peer is
    /// stuck.
    bool reserve_at(ShmPeer& peer, std::size_t len);

    /// Sends the frame in room_.
    void send(std::size_t len, std::uint32_t flags);
    void sent(std::size_t len, unsigned packets);

    /// Returns room in a peer's ring; empty if it is full. Then decides whether the peer is stuck.
    std::span<std::byte> reserve(ShmPeer& peer, std::size_t len);
    bool commit(ShmPeer& peer, std::size_t len, std::uint32_t flags);

    /// Copies a frame into a peer's ring. If the ring is full and `hold` is set, the frame is held
    /// until there is room, the peer is given up on, or others have been held up for too long.
    /// Returns false if the frame was not queued: it is held, or was counted as dropped.
    bool copy(ShmPeer& peer, std::span<const std::byte> frame, std::uint32_t flags, bool hold);
    bool may_hold();
    void end_hold();

    /// Returns true if the held frame was sent or dropped.
    bool send_held();

    // Lending (shm_lend.cpp).
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
    FairStart service_first_;
    bool any_gone_ = false;
    bool any_wait_ = false;  ///< holds_enough() told a sender to wait
    ShmPatience patience_;
    // delivering a frame whose payload the peer cannot take back meanwhile
    bool reads_ = false;
    bool gather_due_ = false;  // gather() must be completed after that
    log::Limit log_limit_;
    bool needs_icrc_ = true;
    bool sleeps_ = false;  // from prepare_sleep() to woke()
    unsigned idle_rounds_ = 0;
    std::vector<std::string> lost_;  ///< addresses of cards to reconnect to
    Nanoseconds lost_looked_ = 0;
    std::size_t first_ = 0;  // the peer whose frames are received first in the next round

    ShmPeer* guess_ = nullptr;
    ShmPeer* target_ = nullptr;  // the peer whose ring has room_; null: room_ is in scratch_
    std::span<std::byte> room_;
    unsigned packets_ = 1;  // of the frame in room_; more than one: a train to target_
    ShmPeer* held_for_ = nullptr;
    std::size_t held_len_ = 0;
    std::uint32_t held_flags_ = 0;
    Nanoseconds held_since_ = 0;
    /// remaining time for which a frame may be held while others wait
    Nanoseconds hold_left_ = kHoldAtOnce;
    Nanoseconds hold_counted_ = 0;  ///< time of the last refill of hold_left_
    std::array<std::byte, kMaxFrame> scratch_;
    std::array<std::byte, kMaxFrame> held_;
};

}  // namespace dingo
