// SPDX-License-Identifier: BSD-2-Clause
//
// What work costs the one who causes it, in units of the time that a byte of a long message takes
// at its sender, or at its receiver. Fixed numbers, not a clock: an engine repeats a run exactly.
// They were chosen from measured times: docs/reference/kernel-less.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dingo::model::cost {

/// Cost of a frame or a packet train besides its bytes. Charged to its sender, and again to its
/// receiver.
inline constexpr std::int64_t kFrame = 8'192;
/// Cost of a step without a frame: a local operation, a flushed entry, a turn that does nothing.
inline constexpr std::int64_t kStep = 4'096;

constexpr std::int64_t of_frame(std::size_t bytes) {
    return kFrame + static_cast<std::int64_t>(bytes);
}

}  // namespace dingo::model::cost
