// SPDX-License-Identifier: BSD-2-Clause
#include "frame_headers.h"

namespace dingo::model {
namespace {

std::size_t inside(std::size_t end, std::span<const std::byte> frame) noexcept {
    return end <= frame.size() ? end : 0;
}

}  // namespace

FrameHeaders headers_of(std::span<const std::byte> frame) noexcept {
    FrameHeaders headers;
    std::size_t l3 = packet::kEthernetBytes;
    std::uint16_t type = packet::load_be16(frame.data() + 12);
    if (type == packet::kEtherTypeVlan && frame.size() >= l3 + packet::kVlanBytes) {
        type = packet::load_be16(frame.data() + 16);
        l3 += packet::kVlanBytes;
    }
    const std::byte* const ip = frame.data() + l3;
    if (type == packet::kEtherTypeIpv4 && frame.size() >= l3 + packet::kIpv4Bytes) {
        const std::size_t header = 4 * (std::to_integer<std::size_t>(ip[0]) & 0xf);
        headers.ip = FrameHeaders::Ip::kV4;
        headers.protocol = std::to_integer<std::uint8_t>(ip[9]);
        headers.fragment = (packet::load_be16(ip + 6) & 0x3fff) != 0;
        headers.l4 = header >= packet::kIpv4Bytes ? inside(l3 + header, frame) : 0;
        headers.end = inside(l3 + packet::load_be16(ip + 2), frame);
    } else if (type == packet::kEtherTypeIpv6 && frame.size() >= l3 + packet::kIpv6Bytes) {
        headers.ip = FrameHeaders::Ip::kV6;
        headers.protocol = std::to_integer<std::uint8_t>(ip[6]);
        headers.l4 = l3 + packet::kIpv6Bytes;
        headers.end = inside(headers.l4 + packet::load_be16(ip + 4), frame);
    }
    headers.l3 = l3;
    return headers;
}

void add_pseudo_header(InternetSum& sum, const FrameHeaders& headers,
                       std::span<const std::byte> frame, std::uint32_t length) noexcept {
    sum.add(headers.addresses(frame));
    sum.add(static_cast<std::uint16_t>(length >> 16));
    sum.add(static_cast<std::uint16_t>(length));
    sum.add(std::uint16_t{headers.protocol});
}

bool checksums_are_right(const FrameHeaders& headers, std::span<const std::byte> frame) noexcept {
    if (!headers.has_ports(frame.size()) || headers.end == 0) {
        return false;
    }
    const std::size_t least = headers.protocol == kProtocolTcp ? kTcpHeader : packet::kUdpBytes;
    if (headers.end < headers.l4 + least) {
        return false;
    }
    if (headers.ip == FrameHeaders::Ip::kV4) {
        InternetSum header;
        header.add(frame.subspan(headers.l3, headers.l4 - headers.l3));
        if (header.checksum() != 0) {
            return false;
        }
    }
    if (headers.protocol == packet::kIpProtocolUdp &&
        packet::load_be16(frame.data() + headers.l4 + 6) == 0) {
        return false;  // UDP without checksum
    }
    const auto packet = frame.subspan(headers.l4, headers.end - headers.l4);
    InternetSum sum;
    add_pseudo_header(sum, headers, frame, static_cast<std::uint32_t>(packet.size()));
    sum.add(packet);
    return sum.checksum() == 0;
}

bool fill_in_checksum(std::span<std::byte> frame, std::size_t start, std::size_t place) noexcept {
    if (start < packet::kEthernetBytes || start + place + 2 > frame.size()) {
        return false;
    }
    InternetSum sum;
    sum.add(frame.subspan(start));
    packet::store_be16(frame.data() + start + place, sum.nonzero_checksum());
    return true;
}

}  // namespace dingo::model
