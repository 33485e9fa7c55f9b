// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/parse.h"

#include <algorithm>
#include <array>

namespace dingo::packet {
namespace {

/// Result of parsing an IPv4 or IPv6 header.
struct Layer3 {
    std::size_t header_bytes;
    std::size_t datagram_bytes;  ///< UDP header and all that follows, by the IP length
};

/// Returns true if the UDP header at `udp` has RoCE's destination port.
bool to_roce_port(const std::byte* udp) noexcept {
    return load_be16(udp + UdpHeader::kDstPortOffset) == kRoceUdpPort;
}

ParseResult parse_ipv4(const std::byte* p, std::size_t available, Packet& out,
                       Layer3& l3) noexcept {
    if (available < kIpv4Bytes + kUdpBytes)
        return ParseResult::kNotRoce;
    const Ipv4Header ip = Ipv4Header::load(p);
    if (ip.version_ihl != Ipv4Header::kVersionIhl || ip.protocol != kIpProtocolUdp)
        return ParseResult::kNotRoce;
    // Later fragments have no UDP header to check: the host's network stack reassembles them.
    if ((ip.flags_fragment & Ipv4Header::kFragmentOffsetMask) != 0)
        return ParseResult::kNotRoce;
    if (!to_roce_port(p + kIpv4Bytes))
        return ParseResult::kNotRoce;
    if ((ip.flags_fragment & Ipv4Header::kMoreFragments) != 0)
        return ParseResult::kFragment;
    if (ipv4_header_sum(p) != 0xffff)
        return ParseResult::kIpChecksum;
    if (ip.total_length > available || ip.total_length < kIpv4Bytes + kUdpBytes)
        return ParseResult::kIpLength;

    l3 = {kIpv4Bytes, ip.total_length - kIpv4Bytes};
    out.l3 = L3Kind::kIpv4;
    out.sgid = Gid::from_ipv4(ip.src);
    out.dgid = Gid::from_ipv4(ip.dst);
    out.dscp = static_cast<std::uint8_t>(tos::Dscp::get(ip.tos));
    out.ecn = static_cast<std::uint8_t>(tos::Ecn::get(ip.tos));
    out.hop_limit = ip.ttl;
    out.flow_label = 0;
    out.ip_id = ip.id;
    return ParseResult::kRoce;
}

ParseResult parse_ipv6(const std::byte* p, std::size_t available, Packet& out,
                       Layer3& l3) noexcept {
    if (available < kIpv6Bytes + kUdpBytes)
        return ParseResult::kNotRoce;
    const Ipv6Header ip = Ipv6Header::load(p);
    if (ip.version != Ipv6Header::kVersion || ip.next_header != kIpProtocolUdp)
        return ParseResult::kNotRoce;
    if (!to_roce_port(p + kIpv6Bytes))
        return ParseResult::kNotRoce;
    if (ip.payload_length > available - kIpv6Bytes || ip.payload_length < kUdpBytes)
        return ParseResult::kIpLength;

    l3 = {kIpv6Bytes, ip.payload_length};
    out.l3 = L3Kind::kIpv6;
    out.sgid = ip.src;
    out.dgid = ip.dst;
    out.dscp = static_cast<std::uint8_t>(tos::Dscp::get(ip.traffic_class));
    out.ecn = static_cast<std::uint8_t>(tos::Ecn::get(ip.traffic_class));
    out.hop_limit = ip.hop_limit;
    out.flow_label = ip.flow_label;
    out.ip_id = 0;
    return ParseResult::kRoce;
}

/// Loads the extension headers of `op` and zeroes the others; the caller checked the length. Writes
/// each member once, which is cheaper than clearing the whole Packet first.
void load_extensions(const std::byte* p, const OpcodeTraits& op, TransportHeaders& out) noexcept {
    out.deth = {};
    out.reth = {};
    out.atomic_eth = {};
    out.aeth = {};
    out.atomic_original = 0;
    out.imm = 0;
    out.inv_rkey = 0;
    if (op.has_deth()) {
        out.deth = Deth::load(p);
        p += kDethBytes;
    }
    if (op.has_reth()) {
        out.reth = Reth::load(p);
        p += kRethBytes;
    }
    if (op.has_atomic_eth())
        out.atomic_eth = AtomicEth::load(p);
    if (op.has_aeth()) {
        out.aeth = Aeth::load(p);
        p += kAethBytes;
    }
    if (op.has_atomic_ack_eth())
        out.atomic_original = load_be64(p);
    if (op.has_imm())
        out.imm = load_be32(p);
    if (op.has_ieth())
        out.inv_rkey = load_be32(p);
}

}  // namespace

ParseResult parse(std::span<const std::byte> frame, Packet& out) noexcept {
    const std::byte* const base = frame.data();
    const std::size_t size = std::min(frame.size(), kMaxFrameBytes);
    if (size < kEthernetBytes)
        return ParseResult::kRunt;

    // Copied directly: via an EthernetHeader, the CPU stalls on store forwarding.
    std::memcpy(out.dmac.bytes.data(), base, out.dmac.bytes.size());
    std::memcpy(out.smac.bytes.data(), base + out.dmac.bytes.size(), out.smac.bytes.size());
    std::uint16_t ether_type = load_be16(base + EthernetHeader::kTypeOffset);
    out.has_vlan = false;
    out.vlan_tci = 0;
    std::size_t offset = kEthernetBytes;
    if (ether_type == kEtherTypeVlan) {
        if (size < offset + kVlanBytes)
            return ParseResult::kNotRoce;
        const VlanHeader vlan = VlanHeader::load(base + offset);
        out.has_vlan = true;
        out.vlan_tci = vlan.tci;
        ether_type = vlan.ether_type;
        offset += kVlanBytes;
    }

    out.l3_offset = static_cast<std::uint16_t>(offset);
    Layer3 l3{};
    ParseResult result = ParseResult::kNotRoce;
    if (ether_type == kEtherTypeIpv4)
        result = parse_ipv4(base + offset, size - offset, out, l3);
    else if (ether_type == kEtherTypeIpv6)
        result = parse_ipv6(base + offset, size - offset, out, l3);
    if (result != ParseResult::kRoce)
        return result;

    offset += l3.header_bytes;
    const std::size_t end = offset + l3.datagram_bytes;  // Ethernet padding may follow
    const UdpHeader udp = UdpHeader::load(base + offset);
    if (udp.length != l3.datagram_bytes)
        return ParseResult::kUdpLength;
    out.udp_sport = udp.src_port;
    offset += kUdpBytes;

    if (end - offset < kBthBytes + kIcrcBytes)
        return ParseResult::kTooShort;
    out.bth_offset = static_cast<std::uint16_t>(offset);
    out.bth.assign(base + offset);
    if (out.bth.tver != 0)
        return ParseResult::kTransportVersion;
    const OpcodeTraits& op = out.op();
    if (!op.known())
        return ParseResult::kUnknownOpcode;
    if (end - offset < op.header_bytes + kIcrcBytes)
        return ParseResult::kHeaderTruncated;
    load_extensions(base + offset + kBthBytes, op, out);
    offset += op.header_bytes;

    const std::size_t padded = end - kIcrcBytes - offset;
    if (padded % 4 != 0)
        return ParseResult::kUnalignedLength;
    if (out.bth.pad > padded)
        return ParseResult::kPadTooLong;
    out.payload_offset = static_cast<std::uint16_t>(offset);
    out.icrc_offset = static_cast<std::uint16_t>(end - kIcrcBytes);
    out.payload = {base + offset, padded - out.bth.pad};
    return ParseResult::kRoce;
}

std::string_view to_string(ParseResult result) noexcept {
    static constexpr std::array<std::string_view, kParseResultCount> kNames = {
        "roce",           "not_roce",         "runt",
        "fragment",       "ip_checksum",      "ip_length",
        "udp_length",     "too_short",        "transport_version",
        "unknown_opcode", "header_truncated", "unaligned_length",
        "pad_too_long"};
    const auto index = static_cast<std::size_t>(result);
    return index < kNames.size() ? kNames[index] : "?";
}

}  // namespace dingo::packet
