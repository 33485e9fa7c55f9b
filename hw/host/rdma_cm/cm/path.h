// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "host/rdma_cm/cm/mad.h"

namespace dingo::cm {

/// Lifetime of a packet on a RoCE fabric as Linux assumes it: 4.096 us * 2^16.
inline constexpr std::uint8_t kPacketLifetime = 16;

/// The path of a connection and its datagrams to the peer.
struct Path {
    Gid local{};
    Gid remote{};
    std::uint8_t sgid_index = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::uint8_t sl = 0;
    std::uint8_t mtu = 0;   ///< 1..5
    std::uint8_t rate = 0;  ///< enum ibv_rate
    std::uint8_t packet_life_time = kPacketLifetime;
};

/// Converts a time of the protocol, 4.096 us * 2^exponent, to milliseconds, rounded as Linux does.
constexpr std::uint64_t milliseconds(unsigned exponent) {
    return std::uint64_t{1} << (exponent > 8 ? exponent - 8 : 0);
}

/// The Local ACK Timeout of a QP: the packet lifetime in both directions and the peer's response
/// time.
constexpr std::uint8_t ack_timeout(unsigned ack_delay, unsigned packet_life_time) {
    unsigned timeout = packet_life_time + 1;
    if (timeout >= ack_delay) {
        timeout += ack_delay >= timeout - 1 ? 1 : 0;
    } else {
        timeout = ack_delay + (timeout >= ack_delay - 1 ? 1 : 0);
    }
    return static_cast<std::uint8_t>(timeout > 31 ? 31 : timeout);
}

}  // namespace dingo::cm
