// SPDX-License-Identifier: BSD-2-Clause
//
// State of a QP that uses far memory. Most QPs have none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "dingo/packet/psn.h"
#include "dingo_hw.h"

namespace dingo::model {

/// The two streams of accesses of a QP.
enum class Half : std::uint8_t {
    kSend,     ///< its requests, and the data that it receives for them
    kReceive,  ///< requests of the peer
};

/// An action to perform when all accesses before it are done.
struct FarEffect {
    enum class Kind : std::uint8_t { kCompletion, kReply, kAtomic };

    Kind kind = Kind::kCompletion;
    std::uint8_t syndrome = 0;  ///< reply
    std::uint32_t psn = 0;      ///< reply; atomic: PSN of the request
    std::uint32_t msn = 0;      ///< reply: number of messages complete at that time
    std::uint64_t after = 0;    ///< the value of FarHalf::done at which the action is due
    dingo_cqe entry{};          ///< completion
};

struct FarHalf {
    std::uint64_t posted = 0;     ///< number of accesses given to the port
    std::uint64_t done = 0;       ///< number of accesses completed
    std::uint32_t first_psn = 0;  ///< oldest packet whose data may be missing, for a NAK
    std::uint32_t msn = 0;        ///< number of messages before it
    bool failed = false;
    bool in_use = false;            ///< the stream was used at the port
    std::uint32_t completions = 0;  ///< number of completions in `effects`
    std::deque<FarEffect> effects;
    /// Sending: the first WQE whose data were not prefetched, and its PSN.
    bool looked_ahead = false;  ///< the next two are valid
    std::uint32_t ahead_index = 0;
    std::uint32_t ahead_psn = 0;

    [[nodiscard]] bool holds() const noexcept { return posted != done || !effects.empty(); }
    /// A response up to packet `psn`, with `messages` complete, is sent.
    void comes_behind(std::uint32_t psn, std::uint32_t messages) noexcept {
        if (packet::psn_before(first_psn, psn)) {  // otherwise a repetition
            first_psn = psn;
            msn = messages;
        }
    }
};

struct FarState {
    std::array<FarHalf, 2> halves;
    bool waits = false;       ///< to be checked when something moves
    bool wants_turn = false;  ///< had nothing to send because data were missing
    bool wants_room = false;  ///< data that it had requested found no room

    [[nodiscard]] FarHalf& half(Half h) noexcept { return halves[static_cast<unsigned>(h)]; }
    [[nodiscard]] const FarHalf& half(Half h) const noexcept {
        return halves[static_cast<unsigned>(h)];
    }
};

}  // namespace dingo::model
