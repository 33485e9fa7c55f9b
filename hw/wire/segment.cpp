// SPDX-License-Identifier: BSD-2-Clause
#include "wire/segment.h"

#include <algorithm>
#include <cstring>

#include "wire/bytes.h"
#include "wire/classify.h"
#include "wire/wire.h"

namespace dingo {
namespace {

constexpr std::size_t kUdpHeader = 8;
constexpr std::size_t kTcpHeader = 20;
constexpr std::uint8_t kTcpFinPsh = 0x09;
constexpr std::uint8_t kTcpCwr = 0x80;

/// One's complement sum (RFC 1071) of `data` added to `sum`, folded to 16 bits.
std::uint32_t add_up(std::span<const std::byte> data, std::uint32_t sum = 0) {
    std::uint64_t wide = sum;
    for (std::size_t i = 0; i + 1 < data.size(); i += 2)
        wide += get16(&data[i]);
    if (data.size() % 2 != 0)
        wide += std::to_integer<std::uint32_t>(data.back()) << 8;
    while (wide >> 16 != 0)
        wide = (wide & 0xffff) + (wide >> 16);
    return static_cast<std::uint32_t>(wide);
}

/// Returns the checksum field for a sum. 0 means "no checksum" in UDP; 0xffff is equivalent (RFC
/// 768).
std::uint32_t checksum_field(std::uint32_t sum) {
    const std::uint32_t field = ~sum & 0xffff;
    return field == 0 ? 0xffff : field;
}

}  // namespace

bool finish_checksum(std::span<std::byte> frame, std::size_t start, std::size_t offset) {
    if (start + offset + 2 > frame.size())
        return false;
    put16(&frame[start + offset], checksum_field(add_up(frame.subspan(start))));
    return true;
}

Segmenter::Segmenter(std::span<const std::byte> frame, const VnetHeader& vnet) : frame_(frame) {
    const FrameParts parts = classify(frame);
    const std::uint8_t type = vnet.gso_type & static_cast<std::uint8_t>(~kVnetGsoEcn);
    if (parts.ip == 0 || vnet.gso_size == 0)
        return;
    ipv6_ = parts.ipv6;
    ip_ = parts.ip;
    l4_ = parts.l4;
    end_ = parts.end;
    size_ = vnet.gso_size;
    const auto protocol = std::to_integer<std::uint8_t>(frame[ip_ + (ipv6_ ? 6 : 9)]);
    if (type == (ipv6_ ? kVnetGsoTcp6 : kVnetGsoTcp4) && protocol == 6) {
        if (end_ < l4_ + kTcpHeader)
            return;
        tcp_ = true;
        const std::size_t header = std::to_integer<std::size_t>(frame[l4_ + 12]) / 16 * 4;
        if (header < kTcpHeader)
            return;
        payload_ = l4_ + header;
    } else if (type == kVnetGsoUdp && protocol == 17) {
        payload_ = l4_ + kUdpHeader;
    } else {
        return;
    }
    valid_ = payload_ < end_ && payload_ + size_ <= kMaxFrame;
}

std::size_t Segmenter::next(std::span<std::byte> out) {
    const std::size_t total = end_ - payload_;
    if (!valid_ || done_ >= total)
        return 0;
    const std::size_t bytes = std::min(size_, total - done_);
    const bool last = done_ + bytes == total;
    std::memcpy(out.data(), frame_.data(), payload_);
    std::memcpy(out.data() + payload_, frame_.data() + payload_ + done_, bytes);
    const std::size_t len = payload_ + bytes;
    std::byte* ip = out.data() + ip_;
    std::byte* l4 = out.data() + l4_;

    if (ipv6_) {
        put16(ip + 4, static_cast<std::uint32_t>(len - l4_));
    } else {
        put16(ip + 2, static_cast<std::uint32_t>(len - ip_));
        put16(ip + 4, get16(ip + 4) + pieces_);  // each segment has its own identification
        put16(ip + 10, 0);
        put16(ip + 10, ~add_up({ip, l4_ - ip_}) & 0xffff);
    }
    std::size_t field = 6;
    if (tcp_) {
        field = 16;
        const std::uint32_t sequence =
            (get16(l4 + 4) << 16 | get16(l4 + 6)) + static_cast<std::uint32_t>(done_);
        put16(l4 + 4, sequence >> 16);
        put16(l4 + 6, sequence);
        std::uint8_t flags = std::to_integer<std::uint8_t>(l4[13]);
        if (!last)
            flags &= static_cast<std::uint8_t>(~kTcpFinPsh);
        if (done_ != 0)
            flags &= static_cast<std::uint8_t>(~kTcpCwr);
        l4[13] = static_cast<std::byte>(flags);
    } else {
        put16(l4 + 4, static_cast<std::uint32_t>(len - l4_));
    }
    // Pseudo header: addresses, protocol, length.
    put16(l4 + field, 0);
    const std::size_t addresses = ipv6_ ? 32 : 8;
    const std::uint32_t pseudo = add_up({ip + (ipv6_ ? 8 : 12), addresses}) + (tcp_ ? 6 : 17) +
                                 static_cast<std::uint32_t>(len - l4_);
    put16(l4 + field, checksum_field(add_up({l4, len - l4_}, pseudo)));

    done_ += bytes;
    pieces_++;
    return len;
}

}  // namespace dingo
