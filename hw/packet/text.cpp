// SPDX-License-Identifier: BSD-2-Clause
//
// From packets to text, and from a script's packet to a frame.
#include "dingo/packet/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "dingo/packet/aeth.h"
#include "dingo/packet/build.h"

namespace dingo::packet {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string syndrome_text(std::uint8_t s) {
    if (s == syndrome::kAckNoCredits)
        return "ack";
    if (syndrome::is_ack(s))
        return fmt::format("ack:{}", syndrome::value(s));
    if (syndrome::is_rnr(s))
        return fmt::format("rnr:{}", syndrome::value(s));
    switch (s) {
        case syndrome::kNakPsnSequence:
            return "nak:psn";
        case syndrome::kNakInvalidRequest:
            return "nak:invreq";
        case syndrome::kNakRemoteAccess:
            return "nak:access";
        case syndrome::kNakRemoteOperational:
            return "nak:op";
        case syndrome::kNakInvalidRdRequest:
            return "nak:invrd";
        default:
            return fmt::format("{:#04x}", s);
    }
}

void bth_text(Out out, const Bth& bth, std::size_t payload_bytes) {
    const OpcodeTraits& op = traits(bth.opcode);
    if (op.known())
        fmt::format_to(out, "{}", op.name);
    else
        fmt::format_to(out, "UNKNOWN opcode={:#04x}", static_cast<unsigned>(bth.opcode));
    fmt::format_to(out, " qpn={:#x} psn={}", bth.dest_qp, bth.psn);
    fmt::format_to(out, "{}{}{}{}{}", bth.solicited ? " se" : "", bth.migreq ? " migreq" : "",
                   bth.fecn ? " fecn" : "", bth.becn ? " becn" : "", bth.ack_req ? " ackreq" : "");
    fmt::format_to(out, " pkey={:#06x}", bth.pkey);
    if (bth.tver != 0)
        fmt::format_to(out, " tver={}", bth.tver);
    if (bth.pad != 0 && bth.pad != pad_for(payload_bytes))
        fmt::format_to(out, " pad={}", bth.pad);
}

void extensions_text(Out out, const TransportHeaders& h) {
    const OpcodeTraits& op = traits(h.bth.opcode);
    if (op.has_deth())
        fmt::format_to(out, " qkey={:#x} srcqp={:#x}", h.deth.qkey, h.deth.src_qp);
    if (op.has_reth())
        fmt::format_to(out, " va={:#x} rkey={:#x} len={}", h.reth.va, h.reth.rkey, h.reth.length);
    if (op.has_atomic_eth()) {
        fmt::format_to(out, " va={:#x} rkey={:#x}", h.atomic_eth.va, h.atomic_eth.rkey);
        fmt::format_to(out, " {}={:#x}", op.is_fetch_add() ? "add" : "swap", h.atomic_eth.swap_add);
        if (op.is_cmp_swap() || h.atomic_eth.compare != 0)
            fmt::format_to(out, " compare={:#x}", h.atomic_eth.compare);
    }
    if (op.has_aeth())
        fmt::format_to(out, " syndrome={} msn={}", syndrome_text(h.aeth.syndrome), h.aeth.msn);
    if (op.has_atomic_ack_eth())
        fmt::format_to(out, " orig={:#x}", h.atomic_original);
    if (op.has_imm())
        fmt::format_to(out, " imm={:#x}", h.imm);
    if (op.has_ieth())
        fmt::format_to(out, " inv={:#x}", h.inv_rkey);
}

void payload_text(Out out, std::span<const std::byte> payload, bool expected, PayloadText style) {
    if (payload.empty() && !expected)
        return;
    if (style == PayloadText::kLength || payload.empty()) {
        fmt::format_to(out, " payload={}", payload.size());
        return;
    }
    fmt::format_to(out, " payload=hex:");
    for (std::byte b : payload)
        fmt::format_to(out, "{:02x}", std::to_integer<unsigned>(b));
}

/// Puts the script's overrides into the path; false when the two addresses are of two IP versions.
bool override_path(NetworkPath& path, const TextPacket& packet) {
    path.smac = packet.smac.value_or(path.smac);
    path.dmac = packet.dmac.value_or(path.dmac);
    path.sgid = packet.src.value_or(path.sgid);
    path.dgid = packet.dst.value_or(path.dgid);
    if (packet.src || packet.dst) {
        if (path.sgid.is_ipv4_mapped() != path.dgid.is_ipv4_mapped())
            return false;
        path.l3 = path.sgid.is_ipv4_mapped() ? L3Kind::kIpv4 : L3Kind::kIpv6;
    }
    if (packet.vlan_tci) {
        path.has_vlan = true;
        path.vlan_tci = *packet.vlan_tci;
    }
    path.udp_sport = packet.udp_sport.value_or(path.udp_sport);
    path.dscp = packet.dscp.value_or(path.dscp);
    path.ecn = packet.ecn.value_or(path.ecn);
    path.hop_limit = packet.hop_limit.value_or(path.hop_limit);
    path.flow_label = packet.flow_label.value_or(path.flow_label);
    return true;
}

}  // namespace

std::string to_text(const TransportHeaders& headers, std::span<const std::byte> payload,
                    PayloadText style) {
    std::string text;
    const Out out(text);
    bth_text(out, headers.bth, payload.size());
    extensions_text(out, headers);
    payload_text(out, payload, traits(headers.bth.opcode).carries_payload, style);
    return text;
}

std::string to_text(const Packet& packet, PayloadText style) {
    std::string text = to_text(packet, packet.payload, style);
    const Out out(text);
    fmt::format_to(out, " src={} dst={} smac={} dmac={}", to_string(packet.sgid),
                   to_string(packet.dgid), to_string(packet.smac), to_string(packet.dmac));
    if (packet.has_vlan)
        fmt::format_to(out, " vlan={:#x}", packet.vlan_tci);
    fmt::format_to(out, " dscp={} ecn={} ttl={}", packet.dscp, packet.ecn, packet.hop_limit);
    if (packet.l3 == L3Kind::kIpv6)
        fmt::format_to(out, " flow={:#x}", packet.flow_label);
    else
        fmt::format_to(out, " ipid={:#x}", packet.ip_id);
    fmt::format_to(out, " sport={}", packet.udp_sport);
    return text;
}

std::vector<std::byte> build_text(const NetworkPath& path, const TextPacket& packet) {
    NetworkPath actual = path;
    if (!override_path(actual, packet))
        return {};
    const HeaderTemplate headers(actual);
    std::vector<std::byte> frame(headers.frame_bytes(packet.bth.opcode, packet.payload.size()));
    FrameBuilder builder;
    if (!builder.begin(headers, packet, packet.payload.size(), packet.ip_id.value_or(0), frame))
        return {};
    std::copy(packet.payload.begin(), packet.payload.end(), builder.payload().begin());
    std::byte* const bth = frame.data() + headers.bytes();
    if (packet.opcode_override)
        bth[0] = static_cast<std::byte>(*packet.opcode_override);
    if (packet.pad_override) {
        const std::uint32_t word = load_be32(bth) & ~Bth::Word0::Pad::kMask;
        store_be32(bth, word | Bth::Word0::Pad::put(*packet.pad_override));
    }
    builder.finish();
    if (packet.bad_icrc)
        frame.back() ^= std::byte{0xff};
    return frame;
}

}  // namespace dingo::packet
