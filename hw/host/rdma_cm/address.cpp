// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace dingo::rdma_cm {
namespace {

/// struct sockaddr_ib of <rdma/ib.h>.
struct SockaddrIb {
    std::uint16_t family;
    std::uint16_t pkey;
    std::uint32_t flow_info;
    std::uint8_t gid[16];
    std::uint64_t sid;
    std::uint64_t sid_mask;
    std::uint64_t scope;
};
static_assert(sizeof(SockaddrIb) == 48);

constexpr std::uint16_t kDefaultPkey = 0xffff;

Gid mapped(std::uint32_t network_order) {
    Gid gid{};
    gid[10] = gid[11] = 0xff;
    std::memcpy(gid.data() + 12, &network_order, sizeof network_order);
    return gid;
}

template <typename T>
std::optional<T> read(std::span<const std::byte> bytes) {
    T value;
    if (bytes.size() < sizeof value) {
        return std::nullopt;
    }
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

std::optional<Address> parse_ipv4(std::span<const std::byte> bytes) {
    const auto in = read<sockaddr_in>(bytes);
    if (!in) {
        return std::nullopt;
    }
    Address a;
    a.family = AF_INET;
    a.gid = mapped(in->sin_addr.s_addr);
    a.port = ntohs(in->sin_port);
    return a;
}

std::optional<Address> parse_ipv6(std::span<const std::byte> bytes) {
    const auto in6 = read<sockaddr_in6>(bytes);
    if (!in6) {
        return std::nullopt;
    }
    Address a;
    a.family = AF_INET6;
    std::memcpy(a.gid.data(), &in6->sin6_addr, a.gid.size());
    a.port = ntohs(in6->sin6_port);
    a.scope = in6->sin6_scope_id;
    a.flow_info = in6->sin6_flowinfo;
    return a;
}

std::optional<Address> parse_ib(std::span<const std::byte> bytes) {
    const auto ib = read<SockaddrIb>(bytes);
    if (!ib) {
        return std::nullopt;
    }
    Address a;
    a.family = Address::kIb;
    std::copy(std::begin(ib->gid), std::end(ib->gid), a.gid.begin());
    a.port = static_cast<std::uint16_t>(be64toh(ib->sid) & be64toh(ib->sid_mask));
    a.flow_info = ib->flow_info;
    return a;
}

}  // namespace

bool Address::is_ipv4_mapped() const {
    return std::all_of(gid.begin(), gid.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
           gid[10] == 0xff && gid[11] == 0xff;
}

bool Address::is_any() const {
    return family == AF_INET ? gid[12] == 0 : gid == Gid{};
}

bool Address::is_loopback() const {
    if (family == AF_INET) {
        return gid[12] == 127;
    }
    return family == AF_INET6 && gid == loopback(false);
}

std::size_t Address::put(sockaddr_storage& to) const {
    std::memset(&to, 0, sizeof to);
    if (family == AF_INET) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port);
        std::memcpy(&in.sin_addr, gid.data() + 12, sizeof in.sin_addr);
        std::memcpy(&to, &in, sizeof in);
        return sizeof in;
    }
    if (family == AF_INET6) {
        sockaddr_in6 in6{};
        in6.sin6_family = AF_INET6;
        in6.sin6_port = htons(port);
        in6.sin6_flowinfo = flow_info;
        in6.sin6_scope_id = scope;
        std::memcpy(&in6.sin6_addr, gid.data(), gid.size());
        std::memcpy(&to, &in6, sizeof in6);
        return sizeof in6;
    }
    if (family != kIb) {
        return 0;
    }
    SockaddrIb ib{};
    ib.family = kIb;
    ib.pkey = htons(kDefaultPkey);
    ib.sid_mask = htobe64(~std::uint64_t{0});
    std::copy(gid.begin(), gid.end(), ib.gid);
    std::memcpy(&to, &ib, sizeof ib);
    return sizeof ib;
}

Address Address::any(sa_family_t family) {
    Address a;
    a.family = family;
    if (family == AF_INET) {
        a.gid = mapped(0);
    }
    return a;
}

Gid Address::loopback(bool ipv4) {
    if (ipv4) {
        return mapped(htonl(INADDR_LOOPBACK));
    }
    Gid one{};
    one[15] = 1;
    return one;
}

Address Address::of_ib(const Gid& gid) {
    Address a;
    a.family = kIb;
    a.gid = gid;
    return a;
}

Address Address::of_gid(const Gid& gid, std::uint16_t port, bool ipv4) {
    Address a;
    a.family = ipv4 ? AF_INET : AF_INET6;
    a.gid = gid;
    a.port = port;
    return a;
}

std::optional<Address> parse_address(std::span<const std::byte> bytes) {
    const auto family = read<sa_family_t>(bytes);
    if (!family) {
        return std::nullopt;
    }
    switch (*family) {
        case AF_UNSPEC:
            return Address{};
        case AF_INET:
            return parse_ipv4(bytes);
        case AF_INET6:
            return parse_ipv6(bytes);
        case Address::kIb:
            return parse_ib(bytes);
        default:
            return std::nullopt;
    }
}

}  // namespace dingo::rdma_cm
