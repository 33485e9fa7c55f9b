// SPDX-License-Identifier: BSD-2-Clause
//
// Common properties of QPs: kind, packets of a message, order of PSNs.
#pragma once

#include <cstdint>

#include "../queue_pair.h"

namespace dingo::model {

inline bool is_reliable(const QueuePair& qp) noexcept {
    return qp.type == QpType::kRc;
}

inline bool is_datagram(const QueuePair& qp) noexcept {
    return qp.type == QpType::kUd || qp.type == QpType::kGsi;
}

/// Returns true in the states in which requests are sent and responses accepted.
inline bool is_sending(const QueuePair& qp) noexcept {
    return qp.state == QpState::kRts || qp.state == QpState::kSqd;
}

/// Payload bytes of a full packet.
inline std::uint32_t pmtu_bytes(const QueuePair& qp) noexcept {
    return 128U << qp.attr.path_mtu;
}

/// Number of packets of a message of `length` bytes; at least one.
constexpr std::uint32_t packets_of(std::uint32_t length, std::uint32_t pmtu) noexcept {
    return length == 0 ? 1 : static_cast<std::uint32_t>((std::uint64_t{length} + pmtu - 1) / pmtu);
}

/// Identifies a message within one half of a QP, for FarMemory::read(). The PSN alone is ambiguous:
/// it is reused by the message after a failed one, and 2^24 packets later.
constexpr std::uint64_t message_of(std::uint32_t index, std::uint32_t psn) noexcept {
    return std::uint64_t{index} << 32 | psn;
}

/// Order of free-running PSNs and indices.
constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<std::int32_t>(a - b) < 0;
}

}  // namespace dingo::model
