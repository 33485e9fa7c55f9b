// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/cm/ip_service.h"

#include <algorithm>

namespace dingo::cm {
namespace {

constexpr std::uint8_t kVersion = 0;
constexpr std::size_t kSourceAt = 4;
constexpr std::size_t kDestinationAt = 20;
constexpr std::size_t kIpv4At = 12;  // in an address: the first 12 bytes are 0

/// Addresses in the header are GIDs, but without the ff ff of an IPv4 one.
void put(std::uint8_t* to, const Gid& gid, bool ipv4) {
    const std::size_t skip = ipv4 ? kIpv4At : 0;
    std::copy(gid.begin() + static_cast<std::ptrdiff_t>(skip), gid.end(), to + skip);
}

Gid get(const std::uint8_t* from, bool ipv4) {
    Gid gid{};
    if (ipv4) {
        gid[10] = gid[11] = 0xff;
    }
    const std::size_t skip = ipv4 ? kIpv4At : 0;
    std::copy(from + skip, from + gid.size(), gid.begin() + static_cast<std::ptrdiff_t>(skip));
    return gid;
}

}  // namespace

std::array<std::uint8_t, kIpHeaderBytes> encode(const IpHeader& header) {
    std::array<std::uint8_t, kIpHeaderBytes> bytes{};
    bytes[0] = kVersion;
    bytes[1] = header.ipv4 ? 0x40 : 0x60;
    bytes[2] = static_cast<std::uint8_t>(header.source_port >> 8);
    bytes[3] = static_cast<std::uint8_t>(header.source_port);
    put(bytes.data() + kSourceAt, header.source, header.ipv4);
    put(bytes.data() + kDestinationAt, header.destination, header.ipv4);
    return bytes;
}

std::optional<IpHeader> decode_ip_header(std::span<const std::uint8_t> private_data) {
    if (private_data.size() < kIpHeaderBytes || private_data[0] != kVersion) {
        return std::nullopt;
    }
    const unsigned version = private_data[1] >> 4;
    if (version != 4 && version != 6) {
        return std::nullopt;
    }
    IpHeader header;
    header.ipv4 = version == 4;
    header.source_port = static_cast<std::uint16_t>(private_data[2] << 8 | private_data[3]);
    header.source = get(private_data.data() + kSourceAt, header.ipv4);
    header.destination = get(private_data.data() + kDestinationAt, header.ipv4);
    return header;
}

}  // namespace dingo::cm
