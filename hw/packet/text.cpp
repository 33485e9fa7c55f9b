// SPDX-License-Identifier: BSD-2-Clause
//
// Formats packets as text, and builds frames from packets of a script.
#include "dingo/packet/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dingo/packet/aeth.h"
#include "dingo/packet/build.h"

namespace dingo::packet {
namespace {

/// Appends to `text`. fmt::format_to would add 3 s of compilation.
template <class... Args>
void add(std::string& text, fmt::format_string<Args...> format, Args&&... args) {
    text += fmt::format(format, std::forward<Args>(args)...);
}

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

void bth_text(std::string& out, const Bth& bth, std::size_t payload_bytes) {
    const OpcodeTraits& op = traits(bth.opcode);
    if (op.known())
        add(out, "{}", op.name);
    else
        add(out, "UNKNOWN opcode={:#04x}", static_cast<unsigned>(bth.opcode));
    add(out, " qpn={:#x} psn={}", bth.dest_qp, bth.psn);
    add(out, "{}{}{}{}{}", bth.solicited ? " se" : "", bth.migreq ? " migreq" : "",
        bth.fecn ? " fecn" : "", bth.becn ? " becn" : "", bth.ack_req ? " ackreq" : "");
    add(out, " pkey={:#06x}", bth.pkey);
    if (bth.tver != 0)
        add(out, " tver={}", bth.tver);
    if (bth.pad != 0 && bth.pad != pad_for(payload_bytes))
        add(out, " pad={}", bth.pad);
}

void extensions_text(std::string& out, const TransportHeaders& h) {
    const OpcodeTraits& op = traits(h.bth.opcode);
    if (op.has_deth())
        add(out, " qkey={:#x} srcqp={:#x}", h.deth.qkey, h.deth.src_qp);
    if (op.has_reth())
        add(out, " va={:#x} rkey={:#x} len={}", h.reth.va, h.reth.rkey, h.reth.length);
    if (op.has_atomic_eth()) {
        add(out, " va={:#x} rkey={:#x}", h.atomic_eth.va, h.atomic_eth.rkey);
        add(out, " {}={:#x}", op.is_fetch_add() ? "add" : "swap", h.atomic_eth.swap_add);
        if (op.is_cmp_swap() || h.atomic_eth.compare != 0)
            add(out, " compare={:#x}", h.atomic_eth.compare);
    }
    if (op.has_aeth())
        add(out, " syndrome={} msn={}", syndrome_text(h.aeth.syndrome), h.aeth.msn);
    if (op.has_atomic_ack_eth())
        add(out, " orig={:#x}", h.atomic_original);
    if (op.has_imm())
        add(out, " imm={:#x}", h.imm);
    if (op.has_ieth())
        add(out, " inv={:#x}", h.inv_rkey);
}

void payload_text(std::string& out, std::span<const std::byte> payload, bool expected,
                  PayloadText style) {
    if (payload.empty() && !expected)
        return;
    if (style == PayloadText::kLength || payload.empty()) {
        add(out, " payload={}", payload.size());
        return;
    }
    add(out, " payload=hex:");
    for (std::byte b : payload)
        add(out, "{:02x}", std::to_integer<unsigned>(b));
}

/// Applies the script's overrides to the path. Returns false if one address is IPv4 and the other
/// IPv6.
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
    bth_text(text, headers.bth, payload.size());
    extensions_text(text, headers);
    payload_text(text, payload, traits(headers.bth.opcode).carries_payload, style);
    return text;
}

std::string to_text(const Packet& packet, PayloadText style) {
    std::string text = to_text(packet, packet.payload, style);
    add(text, " src={} dst={} smac={} dmac={}", to_string(packet.sgid), to_string(packet.dgid),
        to_string(packet.smac), to_string(packet.dmac));
    if (packet.has_vlan)
        add(text, " vlan={:#x}", packet.vlan_tci);
    add(text, " dscp={} ecn={} ttl={}", packet.dscp, packet.ecn, packet.hop_limit);
    if (packet.l3 == L3Kind::kIpv6)
        add(text, " flow={:#x}", packet.flow_label);
    else
        add(text, " ipid={:#x}", packet.ip_id);
    add(text, " sport={}", packet.udp_sport);
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
