// SPDX-License-Identifier: BSD-2-Clause
//
// Which flow a frame belongs to, bit by bit, and frames of random flows.
#pragma once

#include "wire_bench.h"

namespace dingo::rtl {

using RssKey = std::array<std::uint8_t, 40>;

struct Flow {
    bool ip = false;
    bool ports = false;
    std::uint32_t hash = 0;
};

/// Bit i of the text, if it is one, adds bits i to i + 31 of the key.
inline std::uint32_t toeplitz(std::span<const std::byte> text, const RssKey& key) {
    const auto key_bit = [&](std::size_t i) { return key[i / 8] >> (7 - i % 8) & 1u; };
    std::uint32_t hash = 0;
    for (std::size_t i = 0; i < 8 * text.size(); ++i) {
        if ((std::to_integer<unsigned>(text[i / 8]) >> (7 - i % 8) & 1) == 0) {
            continue;
        }
        for (std::size_t j = 0; j < 32; ++j) {
            hash ^= key_bit(i + j) << (31 - j);
        }
    }
    return hash;
}

inline Flow flow_of(const Frame& frame, const RssKey& key) {
    const auto at = [&](std::size_t i) {
        return i < frame.size() ? std::to_integer<unsigned>(frame[i]) : 0;
    };
    const auto type_at = [&](std::size_t i) { return at(i) << 8 | at(i + 1); };
    const std::size_t l3 = type_at(12) == 0x8100 ? 18 : 14;
    const bool v4 = type_at(l3 - 2) == 0x0800 && frame.size() >= l3 + 20;
    const bool v6 = type_at(l3 - 2) == 0x86dd && frame.size() >= l3 + 40;
    if (!v4 && !v6) {
        return {};
    }
    const unsigned header = v4 ? 4 * (at(l3) & 15) : 40;
    const unsigned protocol = at(l3 + (v4 ? 9 : 6));
    const bool whole = !v4 || (header >= 20 && (type_at(l3 + 6) & 0x3fff) == 0);
    Flow flow{true, whole && (protocol == 6 || protocol == 17) && frame.size() >= l3 + header + 4,
              0};
    const auto all = std::span(frame);
    const auto addresses = v4 ? all.subspan(l3 + 12, 8) : all.subspan(l3 + 8, 32);
    Frame text(addresses.begin(), addresses.end());
    if (flow.ports) {
        const auto ports = all.subspan(l3 + header, 4);
        text.insert(text.end(), ports.begin(), ports.end());
    }
    flow.hash = toeplitz(text, key);
    return flow;
}

/// Mostly IP, with and without tag, options, ports; now and then cut short.
inline Frame random_flow(Random& random) {
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    Frame frame = random_bytes(random, 14 + random() % 120);
    const bool tagged = chance(40);
    const std::size_t l3 = tagged ? 18 : 14;
    const auto put = [&](std::size_t i, unsigned value) {
        if (i < frame.size()) {
            frame[i] = static_cast<std::byte>(value);
        }
    };
    if (tagged) {
        put(12, 0x81);
        put(13, 0);
    }
    const bool v4 = chance(50);
    if (chance(90)) {
        put(l3 - 2, v4 ? 0x08 : 0x86);
        put(l3 - 1, v4 ? 0x00 : 0xdd);
    }
    if (v4) {
        put(l3, 0x40 | (chance(50) ? 5 : random() % 16));
        if (chance(80)) {  // no fragment; "don't" and the reserved flag make none
            put(l3 + 6, random() % 4 << 6 & 0xc0);
            put(l3 + 7, 0);
        }
    }
    if (chance(80)) {
        put(l3 + (v4 ? 9 : 6), chance(50) ? 6 : 17);
    }
    return frame;
}

}  // namespace dingo::rtl
