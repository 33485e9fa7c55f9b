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

/// Byte `offset` of the endless test pattern: no period of a power of two, so that misplaced
/// blocks show.
constexpr std::byte pattern_byte(std::uint64_t offset) noexcept {
    return static_cast<std::byte>(offset % 251);
}

/// One packet of a script: headers, payload, and its overrides of the path.
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

/// One line, without the network part. `payload` as a length or as hexadecimal digits.
std::string to_text(const TransportHeaders& headers, std::span<const std::byte> payload,
                    PayloadText style = PayloadText::kLength);
/// The same with the network part behind it.
std::string to_text(const Packet& packet, PayloadText style = PayloadText::kLength);

/// Reads one line. On failure gives nothing and says why in `error`, naming the word at fault.
std::optional<TextPacket> parse_text(std::string_view line, std::string& error);

/// The frame of a script's packet sent on `path`; empty when it cannot be built (payload too long
/// for IP). Overrides, a wrong pad count and a bad ICRC are put in as asked.
std::vector<std::byte> build_text(const NetworkPath& path, const TextPacket& packet);

}  // namespace dingo::packet
