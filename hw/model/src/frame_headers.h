// SPDX-License-Identifier: BSD-2-Clause
//
// Where the headers of an Ethernet frame are, and whether its checksums are right.
#pragma once

#include <cstdint>
#include <span>

#include "dingo/packet/headers.h"
#include "internet_checksum.h"

namespace dingo::model {

inline constexpr std::size_t kTcpHeader = 20;
inline constexpr std::uint8_t kProtocolTcp = 6;

/// Headers that lie in the frame; offsets are from its start.
struct FrameHeaders {
    enum class Ip : std::uint8_t { kNone, kV4, kV6 };

    Ip ip = Ip::kNone;
    std::uint8_t protocol = 0;
    bool fragment = false;  ///< IPv4
    std::size_t l3 = 0;
    std::size_t l4 = 0;   ///< behind the fixed IPv6 header, or IPv4's with its options; 0: no place
    std::size_t end = 0;  ///< of the IP packet as its length says; 0: not inside the frame

    /// Of TCP or UDP; not in fragments.
    [[nodiscard]] bool has_ports(std::size_t frame_size) const noexcept {
        return l4 != 0 && !fragment && frame_size >= l4 + 4 &&
               (protocol == kProtocolTcp || protocol == packet::kIpProtocolUdp);
    }
    /// Source and destination, one after the other.
    [[nodiscard]] std::span<const std::byte> addresses(
        std::span<const std::byte> frame) const noexcept {
        return ip == Ip::kV4 ? frame.subspan(l3 + 12, 8) : frame.subspan(l3 + 8, 32);
    }
};

/// Reads the headers of `frame`, which has an Ethernet header at least. One VLAN tag is skipped.
FrameHeaders headers_of(std::span<const std::byte> frame) noexcept;

/// Adds the pseudo-header of TCP or UDP with a packet of `length` bytes behind the IP header.
void add_pseudo_header(InternetSum& sum, const FrameHeaders& headers,
                       std::span<const std::byte> frame, std::uint32_t length) noexcept;

/// IPv4's header checksum and that of TCP or UDP are there and right.
bool checksums_are_right(const FrameHeaders& headers, std::span<const std::byte> frame) noexcept;

/// Flag CSUM: false, with nothing changed, when the checksum has no place in the frame.
bool fill_in_checksum(std::span<std::byte> frame, std::size_t start, std::size_t place) noexcept;

}  // namespace dingo::model
