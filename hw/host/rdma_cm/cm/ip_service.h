// SPDX-License-Identifier: BSD-2-Clause
// The RDMA IP CM service (IBTA annex A11): IP addresses and ports in connection requests.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "host/rdma_cm/cm/mad.h"

namespace dingo::cm {

/// Bytes of a request's private data used by the service.
inline constexpr std::size_t kIpHeaderBytes = 36;

/// The header at the start of the private data. Addresses are GIDs: ::ffff:a.b.c.d for IPv4.
struct IpHeader {
    Gid source{};
    Gid destination{};
    std::uint16_t source_port = 0;
    bool ipv4 = false;
};

std::array<std::uint8_t, kIpHeaderBytes> encode(const IpHeader& header);
/// Returns nullopt for another version or an unknown IP version.
std::optional<IpHeader> decode_ip_header(std::span<const std::uint8_t> private_data);

/// Returns the service id of a port: 0000 0000 01pp PPPP, where 1pp is the port space.
constexpr std::uint64_t ip_service_id(std::uint16_t space, std::uint16_t port) {
    return std::uint64_t{space} << 16 | port;
}

}  // namespace dingo::cm
