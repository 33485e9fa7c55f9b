// SPDX-License-Identifier: BSD-2-Clause
//
// Parses and checks an Ethernet frame as RoCE v2 packet. Reads nothing outside the frame, allocates
// nothing and does not copy the payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dingo/packet/headers.h"

namespace dingo::packet {

/// Result of parse(). kNotRoce frames go to the Ethernet function. All later ones are dropped, each
/// with its own counter; except for kRunt, the frame is UDP to port 4791.
enum class ParseResult : std::uint8_t {
    kRoce,              ///< a well-formed RoCE v2 packet; its ICRC is not checked yet
    kNotRoce,           ///< other EtherType or protocol, other port, IPv4 options, IPv6 extensions,
                        ///< two VLAN tags, or cut before the UDP port
    kRunt,              ///< shorter than an Ethernet header
    kFragment,          ///< first fragment of a RoCE datagram: RoCE v2 is never fragmented
    kIpChecksum,        ///< IPv4 header checksum is wrong
    kIpLength,          ///< IP length beyond the frame's end, or too short for the headers
    kUdpLength,         ///< UDP length does not match the IP length
    kTooShort,          ///< no room for BTH and ICRC
    kTransportVersion,  ///< BTH TVer is not 0
    kUnknownOpcode,     ///< an opcode that is not in kOpcodeTable
    kHeaderTruncated,   ///< no room for the extension headers of the opcode
    kUnalignedLength,   ///< payload and pad are not a multiple of four bytes
    kPadTooLong,        ///< pad count larger than what follows the headers
};
inline constexpr std::size_t kParseResultCount = 13;

/// Returns the counter's name: "roce", "not_roce", "runt", "ip_checksum", ...
std::string_view to_string(ParseResult result) noexcept;

/// A parsed packet. `payload` points into the frame.
struct Packet : NetworkPath, TransportHeaders {
    std::uint16_t ip_id = 0;             ///< IPv4 identification
    std::span<const std::byte> payload;  ///< without pad
    std::uint16_t l3_offset = 0;         ///< first byte of the IP header
    std::uint16_t bth_offset = 0;
    std::uint16_t payload_offset = 0;
    /// the ICRC's four bytes end the packet; Ethernet padding may follow
    std::uint16_t icrc_offset = 0;
    /// number of packets: of a train (train.h) more than 1; parse() leaves it 1
    std::uint16_t packets = 1;

    const OpcodeTraits& op() const noexcept { return traits(bth.opcode); }
    /// Bytes of the frame that belong to the packet, from the Ethernet header to the ICRC.
    std::size_t frame_bytes() const noexcept { return icrc_offset + kIcrcBytes; }
};

/// Checks `frame` (from destination MAC, without FCS; only its first 65535 bytes are read) and
/// fills `out`, which is meaningful only after kRoce.
ParseResult parse(std::span<const std::byte> frame, Packet& out) noexcept;

}  // namespace dingo::packet
