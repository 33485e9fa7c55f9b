// SPDX-License-Identifier: BSD-2-Clause
//
// What a QP that uses far memory remembers. Most have none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "dingo/packet/psn.h"
#include "dingo_hw.h"

namespace dingo::model {

/// A QP's two streams of accesses.
enum class Half : std::uint8_t {
    kSend,     ///< requests that it sends, and data that it asked for
    kReceive,  ///< requests of the peer
};

/// Told when the accesses before it are done.
struct FarEffect {
    enum class Kind : std::uint8_t { kCompletion, kReply, kAtomic };

    Kind kind = Kind::kCompletion;
    std::uint8_t syndrome = 0;  ///< reply
    std::uint32_t psn = 0;      ///< reply; atomic: of the request
    std::uint32_t msn = 0;      ///< reply: messages that are complete when it is told
    std::uint32_t slot = 0;     ///< atomic: the resource
    std::uint64_t after = 0;    ///< FarHalf::done from which on it is told
    dingo_cqe entry{};          ///< completion
};

struct FarHalf {
    std::uint64_t posted = 0;     ///< accesses given to the port
    std::uint64_t done = 0;       ///< accesses that are done
    std::uint32_t first_psn = 0;  ///< oldest packet whose data may be missing, for a NAK
    std::uint32_t msn = 0;        ///< messages before it
    bool failed = false;
    bool in_use = false;            ///< the port knows the stream
    std::uint32_t completions = 0;  ///< completions among the effects
    std::deque<FarEffect> effects;
    /// What it sends: the first WQE whose data have not been asked for ahead, and its PSN.
    bool looked_ahead = false;  ///< the next two count
    std::uint32_t ahead_index = 0;
    std::uint32_t ahead_psn = 0;

    [[nodiscard]] bool holds() const noexcept { return posted != done || !effects.empty(); }
    /// A response up to packet `psn` goes out, with `messages` complete.
    void comes_behind(std::uint32_t psn, std::uint32_t messages) noexcept {
        if (packet::psn_before(first_psn, psn)) {  // else it is a repetition
            first_psn = psn;
            msn = messages;
        }
    }
};

struct FarState {
    std::array<FarHalf, 2> halves;
    bool waits = false;       ///< is looked at when something moves
    bool wants_turn = false;  ///< had nothing to send yet
    bool wants_room = false;  ///< data that it asked for found none

    [[nodiscard]] FarHalf& half(Half h) noexcept { return halves[static_cast<unsigned>(h)]; }
    [[nodiscard]] const FarHalf& half(Half h) const noexcept {
        return halves[static_cast<unsigned>(h)];
    }
};

}  // namespace dingo::model
