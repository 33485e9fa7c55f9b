// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>

#include <cstring>

#include "wire/classify.h"
#include "wire/roce_socket.h"

namespace dingo {

std::string text_of(const IpBytes& address) {
    std::array<char, INET6_ADDRSTRLEN> out{};
    in6_addr in6{};
    std::memcpy(&in6, address.data(), sizeof in6);
    if (IN6_IS_ADDR_V4MAPPED(&in6))
        ::inet_ntop(AF_INET, address.data() + 12, out.data(), out.size());
    else
        ::inet_ntop(AF_INET6, &in6, out.data(), out.size());
    return out.data();
}

RoceFrame roce_frame_of(std::span<const std::byte> frame) {
    RoceFrame out;
    const FrameParts parts = classify(frame);
    // The kernel writes the Ethernet header, without a VLAN tag.
    if (!parts.roce() || parts.ip != packet::kEthernetBytes)
        return out;
    const std::byte* const ip = frame.data() + parts.ip;
    if (parts.ipv6) {
        std::memcpy(out.src.data(), ip + 8, 16);
        std::memcpy(out.dst.data(), ip + 24, 16);
        out.tos = static_cast<std::uint8_t>(std::to_integer<unsigned>(ip[0]) << 4 |
                                            std::to_integer<unsigned>(ip[1]) >> 4);
        out.ttl = std::to_integer<std::uint8_t>(ip[7]);
    } else {
        if (ip[0] != std::byte{packet::Ipv4Header::kVersionIhl})
            return out;  // the kernel writes no IP options
        out.src[10] = out.src[11] = out.dst[10] = out.dst[11] = 0xff;
        std::memcpy(out.src.data() + 12, ip + 12, 4);
        std::memcpy(out.dst.data() + 12, ip + 16, 4);
        out.tos = std::to_integer<std::uint8_t>(ip[packet::Ipv4Header::kTosOffset]);
        out.ttl = std::to_integer<std::uint8_t>(ip[packet::Ipv4Header::kTtlOffset]);
    }
    out.family = parts.ipv6 ? AF_INET6 : AF_INET;
    out.ip = parts.ip;
    out.payload = parts.bth;
    out.end = parts.icrc + packet::kIcrcBytes;
    return out;
}

}  // namespace dingo
