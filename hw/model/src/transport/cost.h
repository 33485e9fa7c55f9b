// SPDX-License-Identifier: BSD-2-Clause
//
// What work costs the one who causes it, in units of the time that a byte of a long message takes
// at its sender, or at its receiver. Fixed numbers, not a clock: an engine repeats a run exactly.
// They were chosen from measured times: docs/reference/kernel-less.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo::model::cost {

/// Of a frame, or a train of packets, besides its bytes; for who makes it, and again for who takes
/// it.
inline constexpr std::int64_t kFrame = 8'192;
/// Of what makes no frame: a local operation, a flushed entry, a turn without use.
inline constexpr std::int64_t kStep = 4'096;

constexpr std::int64_t of_frame(std::size_t bytes) {
    return kFrame + static_cast<std::int64_t>(bytes);
}

}  // namespace dingo::model::cost
