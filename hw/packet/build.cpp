// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/build.h"

#include "dingo/packet/icrc.h"

namespace dingo::packet {
namespace {

std::size_t store_l3(std::byte* p, const NetworkPath& path) noexcept {
    const auto traffic_class =
        static_cast<std::uint8_t>(tos::Dscp::put(path.dscp) | tos::Ecn::put(path.ecn));
    if (path.l3 == L3Kind::kIpv4) {
        Ipv4Header ip;
        ip.tos = traffic_class;
        ip.ttl = path.hop_limit;
        ip.src = path.sgid.ipv4();
        ip.dst = path.dgid.ipv4();
        ip.store(p);
        return kIpv4Bytes;
    }
    Ipv6Header ip;
    ip.traffic_class = traffic_class;
    ip.flow_label = path.flow_label;
    ip.hop_limit = path.hop_limit;
    ip.src = path.sgid;
    ip.dst = path.dgid;
    ip.store(p);
    return kIpv6Bytes;
}

std::uint16_t ipv4_checksum(std::uint32_t sum) noexcept {
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

void store_extensions(std::byte* p, const OpcodeTraits& op, const TransportHeaders& h) noexcept {
    if (op.has_deth()) {
        h.deth.store(p);
        p += kDethBytes;
    }
    if (op.has_reth()) {
        h.reth.store(p);
        p += kRethBytes;
    }
    if (op.has_atomic_eth())
        h.atomic_eth.store(p);
    if (op.has_aeth()) {
        h.aeth.store(p);
        p += kAethBytes;
    }
    if (op.has_atomic_ack_eth())
        store_be64(p, h.atomic_original);
    if (op.has_imm())
        store_be32(p, h.imm);
    if (op.has_ieth())
        store_be32(p, h.inv_rkey);
    if (op.has(ext::kCnpReserved))
        std::memset(p, 0, kCnpReservedBytes);
}

}  // namespace

HeaderTemplate::HeaderTemplate(const NetworkPath& path) noexcept : l3_(path.l3) {
    std::byte* p = headers_.data();
    const std::uint16_t ip_type = l3_ == L3Kind::kIpv4 ? kEtherTypeIpv4 : kEtherTypeIpv6;
    EthernetHeader{path.dmac, path.smac, path.has_vlan ? kEtherTypeVlan : ip_type}.store(p);
    p += kEthernetBytes;
    if (path.has_vlan) {
        VlanHeader{path.vlan_tci, ip_type}.store(p);
        p += kVlanBytes;
    }
    l3_offset_ = static_cast<std::uint8_t>(p - headers_.data());
    const std::size_t ip_bytes = store_l3(p, path);
    if (l3_ == L3Kind::kIpv4)
        ipv4_sum_ = ipv4_header_sum(p);  // length, id and checksum are still zero
    p += ip_bytes;
    UdpHeader udp;
    udp.src_port = path.udp_sport;
    udp.store(p);
    p += kUdpBytes;
    bytes_ = static_cast<std::uint8_t>(p - headers_.data());
}

std::size_t HeaderTemplate::frame_bytes(Opcode op, std::size_t payload_bytes) const noexcept {
    const OpcodeTraits& t = traits(op);
    if (!t.known())
        return 0;
    return bytes_ + t.header_bytes + payload_bytes + pad_for(payload_bytes) + kIcrcBytes;
}

inline void HeaderTemplate::copy_to(std::byte* p) const noexcept {
    // Two overlapping copies of constant length are faster than one of variable length.
    constexpr std::size_t kMinBytes = kEthernetBytes + kIpv4Bytes + kUdpBytes;
    constexpr std::size_t kHalf = (kMaxBytes + 1) / 2;
    static_assert(kHalf <= kMinBytes);
    const std::size_t tail = bytes_ - kHalf;
    std::memcpy(p, headers_.data(), kHalf);
    std::memcpy(p + tail, headers_.data() + tail, kHalf);
}

bool FrameBuilder::begin(const HeaderTemplate& path, const TransportHeaders& headers,
                         std::size_t payload_bytes, std::uint16_t ip_id,
                         std::span<std::byte> buffer) noexcept {
    const OpcodeTraits& op = traits(headers.bth.opcode);
    if (!op.known() || payload_bytes > kMaxFrameBytes)
        return false;
    const std::uint8_t pad = pad_for(payload_bytes);
    const std::size_t payload_offset = path.bytes_ + op.header_bytes;
    const std::size_t total = payload_offset + payload_bytes + pad + kIcrcBytes;
    if (total > buffer.size() || total > kMaxFrameBytes)
        return false;

    frame_ = buffer.first(total);
    l3_ = path.l3_;
    l3_offset_ = path.l3_offset_;
    payload_ = frame_.subspan(payload_offset, payload_bytes);

    std::byte* const base = frame_.data();
    path.copy_to(base);
    std::byte* const ip = base + l3_offset_;
    const auto ip_bytes = static_cast<std::uint16_t>(total - l3_offset_);
    if (l3_ == L3Kind::kIpv4) {
        store_be16(ip + Ipv4Header::kLengthOffset, ip_bytes);
        store_be16(ip + Ipv4Header::kIdOffset, ip_id);
        store_be16(ip + Ipv4Header::kChecksumOffset,
                   ipv4_checksum(path.ipv4_sum_ + ip_bytes + ip_id));
    } else {
        store_be16(ip + Ipv6Header::kLengthOffset,
                   static_cast<std::uint16_t>(ip_bytes - kIpv6Bytes));
    }
    std::byte* const udp = base + path.bytes_ - kUdpBytes;
    store_be16(udp + UdpHeader::kLengthOffset,
               static_cast<std::uint16_t>(total - path.bytes_ + kUdpBytes));

    std::byte* const bth = udp + kUdpBytes;
    Bth stored = headers.bth;
    stored.pad = pad;
    stored.store(bth);
    store_extensions(bth + kBthBytes, op, headers);
    return true;
}

std::span<std::byte> FrameBuilder::finish() noexcept {
    // At most three pad bytes and the ICRC follow the payload: one store clears the pad.
    store_le32(payload_.data() + payload_.size(), 0);
    icrc_append(frame_, l3_offset_, l3_);
    return frame_;
}

std::span<std::byte> FrameBuilder::finish_copying(const std::byte* source) noexcept {
    store_le32(payload_.data() + payload_.size(), 0);
    icrc_append_copying(frame_, l3_offset_, l3_, payload_, source);
    return frame_;
}

std::span<std::byte> FrameBuilder::finish_without_icrc() noexcept {
    store_le32(payload_.data() + payload_.size(), 0);
    store_le32(frame_.data() + frame_.size() - kIcrcBytes, 0);
    return frame_;
}

}  // namespace dingo::packet
