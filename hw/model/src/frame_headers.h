// SPDX-License-Identifier: BSD-2-Clause
//
// Locates the headers of an Ethernet frame and verifies its checksums.
#pragma once

#include <cstdint>
#include <span>

#include "dingo/packet/headers.h"
#include "internet_checksum.h"

namespace dingo::model {

inline constexpr std::size_t kTcpHeader = 20;
inline constexpr std::uint8_t kProtocolTcp = 6;

/// Headers of a frame; offsets are from its start.
struct FrameHeaders {
    enum class Ip : std::uint8_t { kNone, kV4, kV6 };

    Ip ip = Ip::kNone;
    std::uint8_t protocol = 0;
    bool fragment = false;  ///< IPv4 only
    std::size_t l3 = 0;
    /// after the fixed IPv6 header, or IPv4's with options; 0: outside the frame
    std::size_t l4 = 0;
    std::size_t end = 0;  ///< of the IP packet by its length field; 0: beyond the frame

    /// Returns true for unfragmented TCP and UDP.
    [[nodiscard]] bool has_ports(std::size_t frame_size) const noexcept {
        return l4 != 0 && !fragment && frame_size >= l4 + 4 &&
               (protocol == kProtocolTcp || protocol == packet::kIpProtocolUdp);
    }
    /// Returns the source address followed by the destination address.
    [[nodiscard]] std::span<const std::byte> addresses(
        std::span<const std::byte> frame) const noexcept {
        return ip == Ip::kV4 ? frame.subspan(l3 + 12, 8) : frame.subspan(l3 + 8, 32);
    }
};

/// Parses the headers of `frame`, which has at least an Ethernet header. Skips one VLAN tag.
FrameHeaders headers_of(std::span<const std::byte> frame) noexcept;

/// Adds the pseudo-header of a TCP or UDP packet of `length` bytes, without IP header, to `sum`.
void add_pseudo_header(InternetSum& sum, const FrameHeaders& headers,
                       std::span<const std::byte> frame, std::uint32_t length) noexcept;

/// Returns true if the IPv4 header checksum and that of TCP or UDP exist and are correct.
bool checksums_are_right(const FrameHeaders& headers, std::span<const std::byte> frame) noexcept;

/// Computes the checksum of descriptor flag CSUM. Returns false, and changes nothing, if its field
/// is outside the frame.
bool fill_in_checksum(std::span<std::byte> frame, std::size_t start, std::size_t place) noexcept;

}  // namespace dingo::model
