// SPDX-License-Identifier: BSD-2-Clause
//
// From an Ethernet frame to a checked RoCE v2 packet. Nothing is read outside the frame, nothing
// is allocated, and the payload stays where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dingo/packet/headers.h"

namespace dingo::packet {

/// Verdict of parse(). kNotRoce goes to the Ethernet function; the later ones are dropped, each
/// with its own counter, and are only given to frames recognised as UDP to port 4791 (kRunt
/// excepted).
enum class ParseResult : std::uint8_t {
    kRoce,              ///< a well-formed RoCE v2 packet; its ICRC is not checked yet
    kNotRoce,           ///< other EtherType or protocol, other port, IPv4 options, IPv6 extensions,
                        ///< two VLAN tags, or cut before the UDP port
    kRunt,              ///< shorter than an Ethernet header
    kFragment,          ///< first fragment of a RoCE datagram: RoCE v2 is never fragmented
    kIpChecksum,        ///< IPv4 header checksum is wrong
    kIpLength,          ///< IP length beyond the end of the frame, or shorter than its headers
    kUdpLength,         ///< UDP length is not what the IP length leaves
    kTooShort,          ///< no room for BTH and ICRC
    kTransportVersion,  ///< BTH TVer is not 0
    kUnknownOpcode,     ///< an opcode that is not in kOpcodeTable
    kHeaderTruncated,   ///< no room for the extension headers of the opcode
    kUnalignedLength,   ///< payload and pad are not a multiple of four bytes
    kPadTooLong,        ///< pad count larger than what stands behind the headers
};
inline constexpr std::size_t kParseResultCount = 13;

/// Counter-style name: "roce", "not_roce", "runt", "ip_checksum", …
std::string_view to_string(ParseResult result) noexcept;

/// A parsed packet. `payload` points into the frame and lives as long as it.
struct Packet : NetworkPath, TransportHeaders {
    std::uint16_t ip_id = 0;             ///< IPv4 identification
    std::span<const std::byte> payload;  ///< without pad
    std::uint16_t l3_offset = 0;         ///< first byte of the IP header
    std::uint16_t bth_offset = 0;
    std::uint16_t payload_offset = 0;
    std::uint16_t icrc_offset =
        0;  ///< the ICRC's four bytes end the packet; Ethernet padding may follow
    std::uint16_t packets = 1;  ///< that it stands for: a train (train.h). parse() leaves it 1

    const OpcodeTraits& op() const noexcept { return traits(bth.opcode); }
    /// Bytes of the frame that belong to the packet, from the Ethernet header to the ICRC.
    std::size_t frame_bytes() const noexcept { return icrc_offset + kIcrcBytes; }
};

/// Checks `frame` (destination MAC to last byte, no FCS, at most 65535 bytes are looked at) and
/// fills `out`. The content of `out` is meaningful only after kRoce.
ParseResult parse(std::span<const std::byte> frame, Packet& out) noexcept;

}  // namespace dingo::packet
