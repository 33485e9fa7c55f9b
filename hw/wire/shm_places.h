// SPDX-License-Identifier: BSD-2-Clause
//
// Decides which peers have a place at a card of a shm segment and how long the card waits for them:
// no peer may lock others out or stall the thread that serves the card.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "wire/shm_peer.h"

namespace dingo {

inline constexpr std::size_t kMaxShmPeers = 128;
/// A connected peer that has not said hello after this time is dropped. Peers say it at once.
inline constexpr Nanoseconds kShmHelloTime = 1'000'000'000;

/// Result of shm_place(): whether the newcomer gets a place, and the peer that loses its own for it
/// (null: none).
struct ShmPlace {
    bool there = false;
    ShmPeer* loser = nullptr;
};
/// Chooses the place for `newcomer`. If it has not said hello and too many others have not, the
/// oldest of those loses its place. If it has, and all kMaxShmPeers places are taken, the process
/// with the most places loses one if it keeps at least as many as the newcomer's then has; else a
/// peer that has never sent a frame loses its place. Among several candidates the oldest is chosen.
ShmPlace shm_place(std::span<const std::unique_ptr<ShmPeer>> peers, const ShmPeer& newcomer,
                   Nanoseconds now);

/// Limits waiting for peers that read a client's memory while it is taken back: all waits together
/// take a small share of the time.
class ShmPatience {
  public:
    [[nodiscard]] std::chrono::nanoseconds most(Nanoseconds now);
    void waited(std::chrono::nanoseconds time);
    /// A peer did not finish in time: for a while, peers that connected recently get copies of
    /// payloads.
    void cut_one_off(Nanoseconds now);
    [[nodiscard]] bool trusts(const ShmPeer& peer, Nanoseconds now) const {
        return now >= careful_until_ || peer.fd() < 0 || now - peer.accepted >= kNewcomer;
    }

  private:
    static constexpr Nanoseconds kNewcomer = 10'000'000'000;
    // A peer that is preempted while it reads runs again within a few time slices.
    static constexpr Nanoseconds kMost = 500'000'000;

    Nanoseconds left_ = kMost;
    Nanoseconds counted_ = 0;  ///< time of the last refill of left_
    Nanoseconds careful_until_ = 0;
};

}  // namespace dingo
