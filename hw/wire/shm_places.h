// SPDX-License-Identifier: BSD-2-Clause
//
// Which peers have a place at a card of a shm segment, and how long the card waits for them: no
// peer may keep others out or stop the thread that serves the card.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "wire/shm_peer.h"

namespace dingo {

inline constexpr std::size_t kMaxShmPeers = 128;
/// How long a peer that has connected keeps its place without saying hello. Peers do so at once.
inline constexpr Nanoseconds kShmHelloTime = 1'000'000'000;

/// Whether there is a place for a newcomer, and which peer loses its own for that (null: none).
struct ShmPlace {
    bool there = false;
    ShmPeer* loser = nullptr;
};
/// Chooses the place for `newcomer`. If there are peers that have not said hello, the oldest of
/// them loses its place. Else the process with the most places loses one, if it then keeps as many
/// as the newcomer's; else a peer that has never sent a frame. Among several the oldest goes.
ShmPlace shm_place(std::span<const std::unique_ptr<ShmPeer>> peers, const ShmPeer& newcomer,
                   Nanoseconds now);

/// With peers that read a client's memory which is taken back: all waiting together takes a small
/// part of the time.
class ShmPatience {
  public:
    [[nodiscard]] std::chrono::nanoseconds most(Nanoseconds now);
    void waited(std::chrono::nanoseconds time);
    /// A peer did not move on in time: newcomers get copies of payloads for a while.
    void cut_one_off(Nanoseconds now);
    [[nodiscard]] bool trusts(const ShmPeer& peer, Nanoseconds now) const {
        return now >= careful_until_ || peer.fd() < 0 || now - peer.accepted >= kNewcomer;
    }

  private:
    static constexpr Nanoseconds kNewcomer = 10'000'000'000;
    // A peer that has lost its processor while it reads gets it back within a few time slices.
    static constexpr Nanoseconds kMost = 500'000'000;

    Nanoseconds left_ = kMost;
    Nanoseconds counted_ = 0;  ///< when that was
    Nanoseconds careful_until_ = 0;
};

}  // namespace dingo
