// SPDX-License-Identifier: BSD-2-Clause
//
// Locates the parts of a frame for the fault injector. Checks no more than it needs: faults may
// also target a frame that dingo::packet::parse() rejects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/packet/opcodes.h"

namespace dingo {

/// Offsets into a frame; 0: the frame has no such part.
struct FrameParts {
    std::size_t ip = 0;       ///< IPv4 or IPv6 header
    std::size_t l4 = 0;       ///< first byte after the IP header
    std::size_t end = 0;      ///< end of the IP packet; Ethernet padding may follow
    std::size_t bth = 0;      ///< RoCE v2 only, as are the ones below
    std::size_t payload = 0;  ///< first byte after the BTH: extension headers, data and pad
    std::size_t icrc = 0;
    bool ipv6 = false;
    std::uint8_t opcode = 0;
    std::uint32_t qpn = 0;  ///< destination QP
    std::uint32_t psn = 0;

    [[nodiscard]] bool roce() const { return bth != 0; }
};

/// Parses at most two VLAN tags, IPv4 (first fragments) and IPv6 without extension headers. RoCE v2
/// is UDP to port 4791 with room for BTH and ICRC.
inline FrameParts classify(std::span<const std::byte> frame) {
    constexpr std::size_t kUdpBytes = 8;
    constexpr std::size_t kIcrcBytes = 4;
    constexpr std::uint32_t kRocePort = 4791;
    const auto get = [&](std::size_t at, std::size_t bytes) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < bytes; i++)
            value = value << 8 | std::to_integer<std::uint32_t>(frame[at + i]);
        return value;
    };
    FrameParts out;
    std::size_t at = 12;
    if (frame.size() < at + 2)
        return out;
    std::uint32_t type = get(at, 2);
    for (int tags = 0; tags < 2 && (type == 0x8100 || type == 0x88a8); tags++) {
        at += 4;
        if (frame.size() < at + 2)
            return out;
        type = get(at, 2);
    }
    at += 2;
    std::uint32_t protocol = 0;
    bool later_fragment = false;
    if (type == 0x0800 && frame.size() >= at + 20 && get(at, 1) >> 4 == 4) {
        const std::size_t header = (get(at, 1) & 0xf) * 4;
        const std::size_t total = get(at + 2, 2);
        if (header < 20 || total < header || frame.size() < at + total)
            return out;
        later_fragment = (get(at + 6, 2) & 0x1fff) != 0;
        protocol = get(at + 9, 1);
        out.l4 = at + header;
        out.end = at + total;
    } else if (type == 0x86dd && frame.size() >= at + 40 && get(at, 1) >> 4 == 6) {
        const std::size_t total = 40 + get(at + 4, 2);
        if (frame.size() < at + total)
            return out;
        protocol = get(at + 6, 1);
        out.l4 = at + 40;
        out.end = at + total;
        out.ipv6 = true;
    } else {
        return out;
    }
    out.ip = at;
    const std::size_t bth = out.l4 + kUdpBytes;
    if (protocol != 17 || later_fragment || out.end < bth + packet::kBthBytes + kIcrcBytes ||
        get(out.l4 + 2, 2) != kRocePort)
        return out;
    out.bth = bth;
    out.opcode = static_cast<std::uint8_t>(get(bth, 1));
    out.qpn = get(bth + 5, 3);
    out.psn = get(bth + 9, 3);
    out.payload = bth + packet::kBthBytes;
    out.icrc = out.end - kIcrcBytes;
    return out;
}

}  // namespace dingo
