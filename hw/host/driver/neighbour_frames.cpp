// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/neighbour_frames.h"

#include <algorithm>
#include <cstring>

namespace dingo::uverbs {
namespace {

using packet::load_be16;
using packet::load_be32;
using packet::store_be16;
using packet::store_be32;

constexpr std::size_t kL3 = packet::kEthernetBytes;
constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kIcmp6 = 58;
constexpr std::size_t kIcmpHeader = 8;
constexpr std::uint8_t kEchoRequest = 8;
constexpr std::uint8_t kEchoReply = 0;
constexpr std::uint8_t kEchoRequest6 = 128;
constexpr std::uint8_t kEchoReply6 = 129;
constexpr std::size_t kChecksumOffset = 2;  // in ICMP and ICMPv6

/// One's complement sum, not folded.
std::uint64_t sum_of(std::span<const std::byte> bytes) {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (; i + 1 < bytes.size(); i += 2) {
        sum += load_be16(&bytes[i]);
    }
    return i < bytes.size() ? sum + (std::to_integer<std::uint64_t>(bytes[i]) << 8) : sum;
}

std::uint16_t fold(std::uint64_t sum) {
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

/// Sum of an ICMPv6 message and its IPv6 pseudo header.
std::uint64_t icmp6_sum(const packet::Ipv6Header& ip, std::span<const std::byte> message) {
    return sum_of(std::as_bytes(std::span(ip.src.bytes))) +
           sum_of(std::as_bytes(std::span(ip.dst.bytes))) + message.size() + kIcmp6 +
           sum_of(message);
}

/// Returns the ICMPv6 message of a frame, empty if the checksum is wrong.
std::span<const std::byte> icmp6_message(std::span<const std::byte> frame, packet::Ipv6Header& ip) {
    if (frame.size() < kL3 + packet::kIpv6Bytes) {
        return {};
    }
    ip = packet::Ipv6Header::load(&frame[kL3]);
    if (ip.version != packet::Ipv6Header::kVersion || ip.next_header != kIcmp6 ||
        ip.payload_length < kIcmpHeader ||
        frame.size() < kL3 + packet::kIpv6Bytes + ip.payload_length) {
        return {};
    }
    const auto message = frame.subspan(kL3 + packet::kIpv6Bytes, ip.payload_length);
    return fold(icmp6_sum(ip, message)) == 0xffff ? message : std::span<const std::byte>{};
}

packet::Mac load_mac(const std::byte* p) {
    packet::Mac mac;
    std::memcpy(mac.bytes.data(), p, mac.bytes.size());
    return mac;
}

void store_mac(std::byte* p, const packet::Mac& mac) {
    std::memcpy(p, mac.bytes.data(), mac.bytes.size());
}

void store_checksum(std::span<std::byte> message, std::uint64_t sum) {
    store_be16(&message[kChecksumOffset], static_cast<std::uint16_t>(~fold(sum)));
}

}  // namespace

std::optional<Arp> Arp::load(std::span<const std::byte> frame) {
    constexpr std::uint32_t kEthernetIpv4 = 0x0001'0800;
    constexpr std::uint16_t kLengths = 0x0604;
    if (frame.size() < kBytes ||
        load_be16(&frame[packet::EthernetHeader::kTypeOffset]) != kEtherType) {
        return std::nullopt;
    }
    const std::byte* const p = &frame[kL3];
    if (load_be32(p) != kEthernetIpv4 || load_be16(p + 4) != kLengths) {
        return std::nullopt;
    }
    return Arp{load_be16(p + 6), load_mac(p + 8), load_be32(p + 14), load_mac(p + 18),
               load_be32(p + 24)};
}

std::array<std::byte, Arp::kBytes> Arp::frame(const packet::Mac& dst) const {
    std::array<std::byte, kBytes> out{};
    packet::EthernetHeader{dst, sender_mac, kEtherType}.store(out.data());
    std::byte* const p = &out[kL3];
    store_be32(p, 0x0001'0800);
    store_be16(p + 4, 0x0604);
    store_be16(p + 6, operation);
    store_mac(p + 8, sender_mac);
    store_be32(p + 14, sender);
    store_mac(p + 18, target_mac);
    store_be32(p + 24, target);
    return out;
}

std::optional<Ndp> Ndp::load(std::span<const std::byte> frame) {
    constexpr std::size_t kFixed = 24;
    packet::Ipv6Header ip;
    const auto m = icmp6_message(frame, ip);
    if (m.size() < kFixed || ip.hop_limit != kHopLimit || m[1] != std::byte{0}) {
        return std::nullopt;
    }
    Ndp ndp;
    ndp.type = std::to_integer<std::uint8_t>(m[0]);
    if (ndp.type != kSolicitation && ndp.type != kAdvertisement) {
        return std::nullopt;
    }
    ndp.src = ip.src;
    ndp.dst = ip.dst;
    ndp.solicited = ndp.type == kAdvertisement && (m[4] & std::byte{0x40}) != std::byte{0};
    std::memcpy(ndp.target.bytes.data(), &m[8], ndp.target.bytes.size());
    const std::uint8_t wanted = ndp.type == kSolicitation ? 1 : 2;
    for (std::size_t at = kFixed; at + 8 <= m.size();) {
        const std::size_t length = std::to_integer<std::size_t>(m[at + 1]) * 8;
        if (length == 0 || at + length > m.size()) {
            return std::nullopt;
        }
        if (std::to_integer<std::uint8_t>(m[at]) == wanted && length == 8) {
            ndp.link_address = load_mac(&m[at + 2]);
        }
        at += length;
    }
    return ndp;
}

std::array<std::byte, Ndp::kBytes> Ndp::frame(const packet::Mac& src_mac,
                                              const packet::Mac& dst_mac) const {
    constexpr std::uint32_t kSolicited = 0x4000'0000;
    constexpr std::uint32_t kOverride = 0x2000'0000;
    std::array<std::byte, kBytes> out{};
    packet::EthernetHeader{dst_mac, src_mac, packet::kEtherTypeIpv6}.store(out.data());
    packet::Ipv6Header ip;
    ip.payload_length = kBytes - kL3 - packet::kIpv6Bytes;
    ip.next_header = kIcmp6;
    ip.hop_limit = kHopLimit;
    ip.src = src;
    ip.dst = dst;
    ip.store(&out[kL3]);
    const auto m = std::span(out).subspan(kL3 + packet::kIpv6Bytes);
    m[0] = std::byte{type};
    if (type == kAdvertisement) {
        store_be32(&m[4], solicited ? kSolicited | kOverride : kOverride);
    }
    std::memcpy(&m[8], target.bytes.data(), target.bytes.size());
    m[24] = type == kSolicitation ? std::byte{1} : std::byte{2};
    m[25] = std::byte{1};
    store_mac(&m[26], link_address.value_or(src_mac));
    store_checksum(m, icmp6_sum(ip, m));
    return out;
}

packet::Gid solicited_node(const packet::Gid& address) {
    packet::Gid group{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};
    std::copy(address.bytes.end() - 3, address.bytes.end(), group.bytes.end() - 3);
    return group;
}

packet::Mac multicast_mac(const packet::Gid& group) {
    if (group.is_ipv4_mapped()) {
        constexpr std::uint8_t kLow7 = 0x7f;  // 23 bits of the address
        return {{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(group.bytes[13] & kLow7),
                 group.bytes[14], group.bytes[15]}};
    }
    return {{0x33, 0x33, group.bytes[12], group.bytes[13], group.bytes[14], group.bytes[15]}};
}

std::optional<EchoRequest> load_echo_request(std::span<const std::byte> frame) {
    if (frame.size() < kL3 + packet::kIpv4Bytes) {
        return std::nullopt;
    }
    if (load_be16(&frame[packet::EthernetHeader::kTypeOffset]) == packet::kEtherTypeIpv6) {
        packet::Ipv6Header ip6;
        const auto m = icmp6_message(frame, ip6);
        if (m.empty() || std::to_integer<std::uint8_t>(m[0]) != kEchoRequest6) {
            return std::nullopt;
        }
        return EchoRequest{ip6.src, ip6.dst, kL3 + packet::kIpv6Bytes + m.size()};
    }
    const auto ip = packet::Ipv4Header::load(&frame[kL3]);
    const auto fragment =
        packet::Ipv4Header::kMoreFragments | packet::Ipv4Header::kFragmentOffsetMask;
    if (ip.version_ihl != packet::Ipv4Header::kVersionIhl || ip.protocol != kIcmp ||
        (ip.flags_fragment & fragment) != 0 || ip.total_length < packet::kIpv4Bytes + kIcmpHeader ||
        frame.size() < kL3 + ip.total_length || packet::ipv4_header_sum(&frame[kL3]) != 0xffff) {
        return std::nullopt;
    }
    const auto m = frame.subspan(kL3 + packet::kIpv4Bytes, ip.total_length - packet::kIpv4Bytes);
    if (std::to_integer<std::uint8_t>(m[0]) != kEchoRequest || fold(sum_of(m)) != 0xffff) {
        return std::nullopt;
    }
    return EchoRequest{packet::Gid::from_ipv4(ip.src), packet::Gid::from_ipv4(ip.dst),
                       kL3 + std::size_t{ip.total_length}};
}

void echo_reply(std::span<const std::byte> request, const packet::Mac& our_mac,
                std::span<std::byte> out) {
    constexpr std::uint8_t kTtl = 64;
    std::ranges::copy(request, out.begin());
    const auto ethernet = packet::EthernetHeader::load(request.data());
    packet::EthernetHeader{ethernet.src, our_mac, ethernet.ether_type}.store(out.data());
    if (ethernet.ether_type == packet::kEtherTypeIpv6) {
        auto ip = packet::Ipv6Header::load(&request[kL3]);
        std::swap(ip.src, ip.dst);
        ip.hop_limit = kTtl;
        ip.store(&out[kL3]);
        const auto m = out.subspan(kL3 + packet::kIpv6Bytes);
        m[0] = std::byte{kEchoReply6};
        store_be16(&m[kChecksumOffset], 0);
        store_checksum(m, icmp6_sum(ip, m));
        return;
    }
    auto ip = packet::Ipv4Header::load(&request[kL3]);
    std::swap(ip.src, ip.dst);
    ip.ttl = kTtl;
    ip.checksum = 0;
    ip.store(&out[kL3]);
    ip.checksum = static_cast<std::uint16_t>(~packet::ipv4_header_sum(&out[kL3]));
    ip.store(&out[kL3]);
    const auto m = out.subspan(kL3 + packet::kIpv4Bytes);
    m[0] = std::byte{kEchoReply};
    store_be16(&m[kChecksumOffset], 0);
    store_checksum(m, sum_of(m));
}

}  // namespace dingo::uverbs
