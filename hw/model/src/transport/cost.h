// SPDX-License-Identifier: BSD-2-Clause
//
// The cost of work for its originator, in units of the time per byte of a long message at its
// sender or at its receiver. Constants instead of measured time: an engine repeats a run exactly.
// Chosen from measurements: docs/reference/kernel-less.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo::model::cost {

/// Cost of a frame or a packet train in addition to its bytes. Charged to its sender, and again to
/// its receiver.
inline constexpr std::int64_t kFrame = 8'192;
/// Cost of a step without a frame: a local operation, a flushed entry, an idle turn.
inline constexpr std::int64_t kStep = 4'096;

constexpr std::int64_t of_frame(std::size_t bytes) {
    return kFrame + static_cast<std::int64_t>(bytes);
}

}  // namespace dingo::model::cost
