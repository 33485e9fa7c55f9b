// SPDX-License-Identifier: BSD-2-Clause
//
// AETH syndromes (ACK with credits, RNR NAK with timer code, NAK with reason) and the two time
// codes of the RC transport: RNR timer and local ACK timeout. Source: InfiniBand
// Architecture Specification, volume 1, chapter 9.7.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dingo::packet {

/// The syndrome byte is a kind (upper three bits) and a value (lower five bits).
namespace syndrome {
inline constexpr std::uint8_t kKindMask = 0xe0;
inline constexpr std::uint8_t kValueMask = 0x1f;
inline constexpr std::uint8_t kAck = 0x00;  ///< value: credit code
inline constexpr std::uint8_t kRnr = 0x20;  ///< value: RNR timer code
inline constexpr std::uint8_t kNak = 0x60;  ///< value: NAK reason

inline constexpr std::uint8_t kNoCredits = 0x1f;  ///< credit code: no flow control information
inline constexpr std::uint8_t kAckNoCredits = kAck | kNoCredits;
inline constexpr std::uint8_t kNakPsnSequence = 0x60;
inline constexpr std::uint8_t kNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kNakRemoteAccess = 0x62;
inline constexpr std::uint8_t kNakRemoteOperational = 0x63;
inline constexpr std::uint8_t kNakInvalidRdRequest = 0x64;

constexpr bool is_ack(std::uint8_t s) noexcept {
    return (s & kKindMask) == kAck;
}
constexpr bool is_rnr(std::uint8_t s) noexcept {
    return (s & kKindMask) == kRnr;
}
constexpr std::uint8_t value(std::uint8_t s) noexcept {
    return s & kValueMask;
}
constexpr std::uint8_t rnr(std::uint8_t timer_code) noexcept {
    return static_cast<std::uint8_t>(kRnr | (timer_code & kValueMask));
}
}  // namespace syndrome

/// RNR NAK delay per 5-bit timer code, in units of 10 us. Code 0 is the longest.
inline constexpr std::array<std::uint32_t, 32> kRnrTimer10us = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

/// Returns the delay in ns that an RNR NAK with this timer code (0..31, higher bits ignored) asks
/// for.
constexpr std::uint64_t rnr_timer_ns(std::uint8_t timer_code) noexcept {
    return std::uint64_t{kRnrTimer10us[timer_code & syndrome::kValueMask]} * 10'000;
}

/// Returns T_tr in ns for the QP attribute `timeout` (0..31, higher bits ignored): 4.096 us x
/// 2^timeout; 0 for timeout 0, which turns the timer off. (C9-140)
constexpr std::uint64_t ack_timeout_ns(std::uint8_t timeout) noexcept {
    constexpr std::uint64_t kUnitNs = 4096;
    const unsigned exponent = timeout & 0x1f;
    return exponent == 0 ? 0 : kUnitNs << exponent;
}

}  // namespace dingo::packet
