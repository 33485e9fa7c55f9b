// SPDX-License-Identifier: BSD-2-Clause
//
// RoCE packets as one line of text, for traces and packet scripts:
//
//     RC_RDMA_WRITE_ONLY_IMM qpn=0x11 psn=5 ackreq va=0x1000 rkey=0x1234 len=64 imm=0x7
//         payload=pattern:64
//
// The opcode name comes first, then words in any order. Numbers are decimal or 0x-hexadecimal.
//   flags     se migreq fecn becn ackreq badicrc
//   BTH       qpn psn pkey (0xffff when absent) tver pad (overrides the computed count)
//             opcode (replaces the opcode byte and keeps the layout of the named one)
//   DETH      qkey srcqp
//   RETH      va rkey len          (va and rkey also for atomics)
//   AETH      syndrome msn         syndrome: ack ack:CREDITS rnr:TIMER nak:psn nak:invreq
//                                  nak:access nak:op nak:invrd or a number
//   atomics   add | swap compare   orig (in the atomic acknowledge)
//   others    imm inv
//   payload   hex:00ff… | pattern:BYTES[@OFFSET] | zero:BYTES | BYTES (the same as pattern:BYTES)
//   network   src dst (IP addresses) smac dmac vlan (TCI) dscp ecn ttl flow sport ipid
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dingo/packet/headers.h"
#include "dingo/packet/parse.h"

namespace dingo::packet {

/// Byte `offset` of the endless test pattern: its period is no power of two, so that misplaced
/// blocks are detected.
constexpr std::byte pattern_byte(std::uint64_t offset) noexcept {
    return static_cast<std::byte>(offset % 251);
}

/// One packet of a script: headers, payload, and the path fields that it overrides.
struct TextPacket : TransportHeaders {
    std::vector<std::byte> payload;
    std::optional<std::uint8_t> pad_override;
    std::optional<std::uint8_t> opcode_override;
    bool bad_icrc = false;
    std::optional<Gid> src, dst;
    std::optional<Mac> smac, dmac;
    std::optional<std::uint16_t> vlan_tci, udp_sport, ip_id;
    std::optional<std::uint8_t> dscp, ecn, hop_limit;
    std::optional<std::uint32_t> flow_label;
};

enum class PayloadText : std::uint8_t { kLength, kHex };

/// Formats as one line, without the network part; `payload` as a length or as hexadecimal digits.
std::string to_text(const TransportHeaders& headers, std::span<const std::byte> payload,
                    PayloadText style = PayloadText::kLength);
/// The same followed by the network part.
std::string to_text(const Packet& packet, PayloadText style = PayloadText::kLength);

/// Parses one line. On failure returns nullopt and sets `error`, which names the word at fault.
std::optional<TextPacket> parse_text(std::string_view line, std::string& error);

/// Builds the frame of a script's packet sent on `path`; empty if impossible (payload too long, or
/// addresses of two IP versions). Applies overrides, a wrong pad count and a bad ICRC as requested.
std::vector<std::byte> build_text(const NetworkPath& path, const TextPacket& packet);

}  // namespace dingo::packet
