// SPDX-License-Identifier: BSD-2-Clause
#include "segmentation.h"

#include <algorithm>

namespace dingo::model {
namespace {

// Offsets in the TCP header (RFC 9293 section 3.1) and bits of its flags.
constexpr std::size_t kTcpSequence = 4;
constexpr std::size_t kTcpDataOffset = 12;
constexpr std::size_t kTcpFlags = 13;
constexpr std::size_t kTcpChecksum = 16;
constexpr std::byte kFin{0x01};
constexpr std::byte kPush{0x08};
constexpr std::byte kCwr{0x80};

}  // namespace

std::span<std::byte> Segmentation::begin(std::size_t length) {
    end();
    frame_.resize(length);
    return frame_;
}

bool Segmentation::accept(std::size_t start, std::size_t mss) {
    headers_ = headers_of(frame_);
    if (headers_.ip == FrameHeaders::Ip::kNone || headers_.fragment ||
        headers_.protocol != kProtocolTcp || headers_.l4 == 0 || headers_.l4 != start || mss == 0 ||
        frame_.size() < start + kTcpHeader) {
        return false;
    }
    const std::size_t tcp = 4 * (std::to_integer<std::size_t>(frame_[start + kTcpDataOffset]) >> 4);
    if (tcp < kTcpHeader || frame_.size() <= start + tcp) {
        return false;  // no payload to segment
    }
    headers_bytes_ = start + tcp;
    payload_ = frame_.size() - headers_bytes_;
    mss_ = mss;
    segments_ = 0;
    return true;
}

void Segmentation::next(std::span<std::byte> out) {
    const std::size_t payload = next_payload();
    out = out.first(headers_bytes_ + payload);
    std::ranges::copy(std::span(frame_).first(headers_bytes_), out.begin());
    std::ranges::copy(std::span(frame_).subspan(headers_bytes_ + sent_, payload),
                      out.begin() + static_cast<std::ptrdiff_t>(headers_bytes_));

    std::byte* const ip = out.data() + headers_.l3;
    if (headers_.ip == FrameHeaders::Ip::kV4) {
        const auto id = static_cast<std::uint16_t>(packet::load_be16(ip + 4) + segments_);
        packet::store_be16(ip + 2, static_cast<std::uint16_t>(out.size() - headers_.l3));
        packet::store_be16(ip + 4, id);
        packet::store_be16(ip + 10, 0);
        InternetSum header;
        header.add(out.subspan(headers_.l3, headers_.l4 - headers_.l3));
        packet::store_be16(ip + 10, header.checksum());
    } else {
        packet::store_be16(ip + 4, static_cast<std::uint16_t>(out.size() - headers_.l4));
    }

    std::byte* const tcp = out.data() + headers_.l4;
    packet::store_be32(tcp + kTcpSequence,
                       packet::load_be32(tcp + kTcpSequence) + static_cast<std::uint32_t>(sent_));
    if (segments_ != 0) {
        tcp[kTcpFlags] &= ~kCwr;
    }
    if (sent_ + payload < payload_) {
        tcp[kTcpFlags] &= ~(kFin | kPush);
    }
    packet::store_be16(tcp + kTcpChecksum, 0);
    InternetSum sum;
    const auto packet = out.subspan(headers_.l4);
    add_pseudo_header(sum, headers_, out, static_cast<std::uint32_t>(packet.size()));
    sum.add(packet);
    packet::store_be16(tcp + kTcpChecksum, sum.checksum());

    sent_ += payload;
    ++segments_;
}

}  // namespace dingo::model
