// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/rdma_cm/cm/mad.h"

namespace dingo::rdma_cm {

using cm::Gid;

/// A socket address as used by rdma_cm: IPv4, IPv6, or family AF_IB, of which only the wildcard is
/// valid on RoCE.
struct Address {
    static constexpr sa_family_t kIb = 27;  ///< AF_IB

    sa_family_t family = AF_UNSPEC;
    Gid gid{};  ///< ::ffff:a.b.c.d for IPv4
    std::uint16_t port = 0;
    std::uint32_t scope = 0;
    std::uint32_t flow_info = 0;  ///< as received, in network byte order

    [[nodiscard]] bool is_ip() const { return family == AF_INET || family == AF_INET6; }
    /// 0.0.0.0/8 or ::.
    [[nodiscard]] bool is_any() const;
    /// 127.0.0.0/8 or ::1.
    [[nodiscard]] bool is_loopback() const;
    [[nodiscard]] bool is_ipv4_mapped() const;

    /// Writes a sockaddr. Returns its length, 0 without an address.
    std::size_t put(sockaddr_storage& to) const;

    static Address any(sa_family_t family);
    /// 127.0.0.1 or ::1.
    static Gid loopback(bool ipv4);
    /// Returns an address of family AF_IB.
    static Address of_ib(const Gid& gid);
    static Address of_gid(const Gid& gid, std::uint16_t port, bool ipv4);
};

/// Returns nullopt if `bytes` is too short or rdma_cm does not support the family. AF_UNSPEC gives
/// an empty address.
std::optional<Address> parse_address(std::span<const std::byte> bytes);

}  // namespace dingo::rdma_cm
