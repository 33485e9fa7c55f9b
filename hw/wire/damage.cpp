// SPDX-License-Identifier: BSD-2-Clause
#include "wire/damage.h"

#include <algorithm>
#include <vector>

#include "wire/wire.h"

namespace dingo {
namespace {

constexpr std::size_t kTypeOffset = 12;  // behind the MAC addresses

}  // namespace

FaultTarget target_of(FaultPart part, const FrameParts& parts, std::size_t size) {
    // The ICRC treats the UDP checksum and BTH byte 4 (FECN, BECN, reserved) as ones.
    constexpr std::size_t kUdpChecksum = 6;
    constexpr std::size_t kBthMasked = 4;
    FaultTarget out;
    switch (part) {
        case FaultPart::kL4:
            out.first = parts.l4;
            out.end = parts.end;
            if (parts.roce()) {
                out.except(parts.l4 + kUdpChecksum);
                out.except(parts.l4 + kUdpChecksum + 1);
                out.except(parts.bth + kBthMasked);
            }
            break;
        case FaultPart::kEth:
            out.first = kTypeOffset;
            out.end = parts.ip != 0 ? parts.ip : std::min(size, kMinFrame);
            break;
        case FaultPart::kIp:
            out.first = parts.ip;
            out.end = parts.l4;
            break;
        case FaultPart::kBth:
            out.first = parts.bth;
            out.end = parts.payload;
            if (parts.roce())
                out.except(parts.bth + kBthMasked);
            break;
        case FaultPart::kPayload:
            out.first = parts.payload;
            out.end = parts.icrc;
            break;
        case FaultPart::kIcrc:
            out.first = parts.icrc;
            out.end = parts.roce() ? parts.end : 0;
            break;
        case FaultPart::kAny:
            out.first = kTypeOffset;
            out.end = size;
            break;
    }
    return out;
}

void flip_bits(std::span<std::byte> frame, const FaultTarget& target, unsigned bits,
               FaultRandom& random) {
    const std::uint64_t choices = target.bytes() * 8;
    std::vector<std::uint64_t> done;
    while (done.size() < std::min<std::uint64_t>(bits, choices)) {
        const std::uint64_t bit = random.below(choices);
        if (std::find(done.begin(), done.end(), bit) != done.end())
            continue;
        done.push_back(bit);
        frame[target.at(bit / 8)] ^= static_cast<std::byte>(1U << (bit % 8));
    }
}

void mark_congestion(std::span<std::byte> frame, const FrameParts& parts) {
    std::byte& ecn = frame[parts.ip + 1];
    if (parts.ipv6) {
        ecn |= std::byte{0x30};
        return;
    }
    const auto word = [&](std::size_t at) {
        return std::to_integer<std::uint32_t>(frame[at]) << 8 |
               std::to_integer<std::uint32_t>(frame[at + 1]);
    };
    const std::uint32_t before = word(parts.ip);
    ecn |= std::byte{0x03};
    // RFC 1624: HC' = ~(~HC + ~m + m')
    const std::size_t checksum = parts.ip + 10;
    std::uint32_t sum = (~word(checksum) & 0xffff) + (~before & 0xffff) + word(parts.ip);
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    frame[checksum] = static_cast<std::byte>(~sum >> 8 & 0xff);
    frame[checksum + 1] = static_cast<std::byte>(~sum & 0xff);
}

}  // namespace dingo
