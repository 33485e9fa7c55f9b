// SPDX-License-Identifier: BSD-2-Clause
//
// Inline bodies of headers.h; included by it only.
#pragma once

namespace dingo::packet {

namespace wire {
/// A 32-bit word whose low 24 bits are the value and whose top byte is reserved or separate.
using Low24 = Bits<0, 24>;
}  // namespace wire

inline EthernetHeader EthernetHeader::load(const std::byte* p) noexcept {
    EthernetHeader h;
    std::memcpy(h.dst.bytes.data(), p, h.dst.bytes.size());
    std::memcpy(h.src.bytes.data(), p + 6, h.src.bytes.size());
    h.ether_type = load_be16(p + kTypeOffset);
    return h;
}
inline void EthernetHeader::store(std::byte* p) const noexcept {
    std::memcpy(p, dst.bytes.data(), dst.bytes.size());
    std::memcpy(p + 6, src.bytes.data(), src.bytes.size());
    store_be16(p + kTypeOffset, ether_type);
}

inline VlanHeader VlanHeader::load(const std::byte* p) noexcept {
    return {load_be16(p), load_be16(p + 2)};
}
inline void VlanHeader::store(std::byte* p) const noexcept {
    store_be16(p, tci);
    store_be16(p + 2, ether_type);
}

inline Ipv4Header Ipv4Header::load(const std::byte* p) noexcept {
    Ipv4Header h;
    h.version_ihl = std::to_integer<std::uint8_t>(p[0]);
    h.tos = std::to_integer<std::uint8_t>(p[kTosOffset]);
    h.total_length = load_be16(p + kLengthOffset);
    h.id = load_be16(p + kIdOffset);
    h.flags_fragment = load_be16(p + 6);
    h.ttl = std::to_integer<std::uint8_t>(p[kTtlOffset]);
    h.protocol = std::to_integer<std::uint8_t>(p[kProtocolOffset]);
    h.checksum = load_be16(p + kChecksumOffset);
    h.src = load_be32(p + 12);
    h.dst = load_be32(p + 16);
    return h;
}
inline void Ipv4Header::store(std::byte* p) const noexcept {
    p[0] = static_cast<std::byte>(version_ihl);
    p[kTosOffset] = static_cast<std::byte>(tos);
    store_be16(p + kLengthOffset, total_length);
    store_be16(p + kIdOffset, id);
    store_be16(p + 6, flags_fragment);
    p[kTtlOffset] = static_cast<std::byte>(ttl);
    p[kProtocolOffset] = static_cast<std::byte>(protocol);
    store_be16(p + kChecksumOffset, checksum);
    store_be32(p + 12, src);
    store_be32(p + 16, dst);
}

inline std::uint16_t ipv4_header_sum(const std::byte* p) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kIpv4Bytes; i += 4)
        sum += load_be32(p + i);
    sum = (sum & 0xffff'ffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);  // at most 0x1fffe
    return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

inline Ipv6Header Ipv6Header::load(const std::byte* p) noexcept {
    Ipv6Header h;
    const std::uint32_t word = load_be32(p);
    h.version = static_cast<std::uint8_t>(Version::get(word));
    h.traffic_class = static_cast<std::uint8_t>(TrafficClass::get(word));
    h.flow_label = FlowLabel::get(word);
    h.payload_length = load_be16(p + kLengthOffset);
    h.next_header = std::to_integer<std::uint8_t>(p[kNextHeaderOffset]);
    h.hop_limit = std::to_integer<std::uint8_t>(p[kHopLimitOffset]);
    std::memcpy(h.src.bytes.data(), p + 8, h.src.bytes.size());
    std::memcpy(h.dst.bytes.data(), p + 24, h.dst.bytes.size());
    return h;
}
inline void Ipv6Header::store(std::byte* p) const noexcept {
    store_be32(
        p, Version::put(version) | TrafficClass::put(traffic_class) | FlowLabel::put(flow_label));
    store_be16(p + kLengthOffset, payload_length);
    p[kNextHeaderOffset] = static_cast<std::byte>(next_header);
    p[kHopLimitOffset] = static_cast<std::byte>(hop_limit);
    std::memcpy(p + 8, src.bytes.data(), src.bytes.size());
    std::memcpy(p + 24, dst.bytes.data(), dst.bytes.size());
}

inline UdpHeader UdpHeader::load(const std::byte* p) noexcept {
    return {load_be16(p), load_be16(p + kDstPortOffset), load_be16(p + kLengthOffset),
            load_be16(p + kChecksumOffset)};
}
inline void UdpHeader::store(std::byte* p) const noexcept {
    store_be16(p, src_port);
    store_be16(p + kDstPortOffset, dst_port);
    store_be16(p + kLengthOffset, length);
    store_be16(p + kChecksumOffset, checksum);
}

inline void Bth::assign(const std::byte* p) noexcept {
    const std::uint32_t w0 = load_be32(p);
    const std::uint32_t w1 = load_be32(p + 4);
    const std::uint32_t w2 = load_be32(p + 8);
    opcode = static_cast<Opcode>(Word0::OpcodeByte::get(w0));
    solicited = Word0::Solicited::get(w0) != 0;
    migreq = Word0::MigReq::get(w0) != 0;
    pad = static_cast<std::uint8_t>(Word0::Pad::get(w0));
    tver = static_cast<std::uint8_t>(Word0::TransportVersion::get(w0));
    pkey = static_cast<std::uint16_t>(Word0::PKey::get(w0));
    fecn = Word1::Fecn::get(w1) != 0;
    becn = Word1::Becn::get(w1) != 0;
    ack_req = Word2::AckReq::get(w2) != 0;
    dest_qp = Word1::DestQp::get(w1);
    psn = Word2::Psn::get(w2);
}
inline Bth Bth::load(const std::byte* p) noexcept {
    Bth h;
    h.assign(p);
    return h;
}
inline void Bth::store(std::byte* p) const noexcept {
    store_be32(p, Word0::OpcodeByte::put(static_cast<std::uint8_t>(opcode)) |
                      Word0::Solicited::put(solicited) | Word0::MigReq::put(migreq) |
                      Word0::Pad::put(pad) | Word0::TransportVersion::put(tver) |
                      Word0::PKey::put(pkey));
    store_be32(p + 4,
               Word1::Fecn::put(fecn) | Word1::Becn::put(becn) | Word1::DestQp::put(dest_qp));
    store_be32(p + 8, Word2::AckReq::put(ack_req) | Word2::Psn::put(psn));
}

inline Deth Deth::load(const std::byte* p) noexcept {
    return {load_be32(p), wire::Low24::get(load_be32(p + 4))};
}
inline void Deth::store(std::byte* p) const noexcept {
    store_be32(p, qkey);
    store_be32(p + 4, wire::Low24::put(src_qp));
}

inline Reth Reth::load(const std::byte* p) noexcept {
    return {load_be64(p), load_be32(p + 8), load_be32(p + 12)};
}
inline void Reth::store(std::byte* p) const noexcept {
    store_be64(p, va);
    store_be32(p + 8, rkey);
    store_be32(p + 12, length);
}

inline Aeth Aeth::load(const std::byte* p) noexcept {
    const std::uint32_t word = load_be32(p);
    return {static_cast<std::uint8_t>(Syndrome::get(word)), Msn::get(word)};
}
inline void Aeth::store(std::byte* p) const noexcept {
    store_be32(p, Syndrome::put(syndrome) | Msn::put(msn));
}

inline AtomicEth AtomicEth::load(const std::byte* p) noexcept {
    return {load_be64(p), load_be32(p + 8), load_be64(p + 12), load_be64(p + 20)};
}
inline void AtomicEth::store(std::byte* p) const noexcept {
    store_be64(p, va);
    store_be32(p + 8, rkey);
    store_be64(p + 12, swap_add);
    store_be64(p + 20, compare);
}

}  // namespace dingo::packet
