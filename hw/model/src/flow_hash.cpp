// SPDX-License-Identifier: BSD-2-Clause
#include "flow_hash.h"

#include <algorithm>

namespace dingo::model {
namespace {

/// FNV-1a: spreads flows well, needs no key, and is reproducible.
std::uint32_t hash_bytes(std::uint32_t hash, std::span<const std::byte> bytes) noexcept {
    for (const std::byte b : bytes) {
        hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 16777619u;
    }
    return hash;
}

}  // namespace

std::uint32_t flow_hash(const FrameHeaders& headers, std::span<const std::byte> frame) noexcept {
    if (headers.ip == FrameHeaders::Ip::kNone) {
        return 0;
    }
    std::uint32_t hash = hash_bytes(2166136261u, headers.addresses(frame));
    if (headers.has_ports(frame.size())) {
        hash = hash_bytes(hash, frame.subspan(headers.l4, 4));
    }
    return hash ^ hash >> 16;
}

void ReceiveSideScaling::set(std::span<const std::uint8_t, DINGO_RSS_KEY> key,
                             std::span<const std::uint8_t, DINGO_RSS_TABLE> table) noexcept {
    std::ranges::copy(table, table_.begin());
    const auto key_bits = [&](std::size_t bit) {  // the 32 key bits that begin at `bit`
        std::uint64_t bits = 0;
        for (std::size_t n = 0; n < 5; ++n) {
            const std::size_t at = bit / 8 + n;
            bits = bits << 8 | (at < key.size() ? key[at] : 0u);
        }
        return static_cast<std::uint32_t>(bits >> (8 - bit % 8));
    };
    for (std::size_t at = 0; at < kLongest; ++at) {
        for (unsigned value = 0; value < 256; ++value) {
            std::uint32_t part = 0;
            for (unsigned bit = 0; bit < 8; ++bit) {
                if ((value & 0x80u >> bit) != 0) {
                    part ^= key_bits(at * 8 + bit);
                }
            }
            parts_[at][value] = part;
        }
    }
    enabled_ = true;
}

std::uint32_t ReceiveSideScaling::toeplitz(std::span<const std::byte> bytes, std::size_t at,
                                           std::uint32_t hash) const noexcept {
    for (const std::byte b : bytes) {
        hash ^= parts_[at++][std::to_integer<std::size_t>(b)];
    }
    return hash;
}

ReceiveSideScaling::Hash ReceiveSideScaling::hash(const FrameHeaders& headers,
                                                  std::span<const std::byte> frame) const noexcept {
    const auto addresses = headers.addresses(frame);
    Hash hash{toeplitz(addresses, 0, 0), headers.has_ports(frame.size())};
    if (hash.has_ports) {
        hash.value = toeplitz(frame.subspan(headers.l4, 4), addresses.size(), hash.value);
    }
    return hash;
}

}  // namespace dingo::model
