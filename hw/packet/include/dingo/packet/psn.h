// SPDX-License-Identifier: BSD-2-Clause
//
// 24-bit packet sequence numbers, compared within a window of 2^23.
#pragma once

#include <cstdint>

namespace dingo::packet {

inline constexpr std::uint32_t kPsnMask = 0xff'ffff;

/// Returns psn + delta modulo 2^24; delta may be negative.
constexpr std::uint32_t psn_add(std::uint32_t psn, std::int64_t delta) noexcept {
    return static_cast<std::uint32_t>(psn + static_cast<std::uint64_t>(delta)) & kPsnMask;
}

/// Signed distance a - b in [-2^23, 2^23): positive when a comes after b.
constexpr std::int32_t psn_diff(std::uint32_t a, std::uint32_t b) noexcept {
    constexpr unsigned kUnusedBits = 8;
    return static_cast<std::int32_t>((a - b) << kUnusedBits) >> kUnusedBits;
}

/// Returns true if a is strictly before b.
constexpr bool psn_before(std::uint32_t a, std::uint32_t b) noexcept {
    return psn_diff(a, b) < 0;
}

}  // namespace dingo::packet
