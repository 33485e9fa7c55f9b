// SPDX-License-Identifier: BSD-2-Clause
//
// Reference for dingo_eth_flow, computed bit by bit, and frames of random flows.
#pragma once

#include "wire_bench.h"

namespace dingo::rtl {

using RssKey = std::array<std::uint8_t, 40>;

struct Flow {
    bool ip = false;
    bool ports = false;
    std::uint32_t hash = 0;
    // The fields below are set if the frame has ports.
    bool v4 = false, tcp = false, tagged = false;
    std::size_t l3 = 0, l4 = 0, end = 0;
    bool summed = false;       ///< packet complete, with checksums; IPv4's is right
    std::uint32_t base = 0;    ///< sum of the IPv4 header without length, ID and checksum
    std::uint32_t pseudo = 0;  ///< sum of the pseudo-header without length
};

/// Toeplitz hash: each bit i of the text that is 1 XORs bits i to i + 31 of the key into the hash.
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
    flow.v4 = v4;
    flow.tcp = protocol == 6;
    flow.tagged = l3 == 18;
    flow.l3 = l3;
    flow.l4 = l3 + header;
    flow.end = v4 ? l3 + type_at(l3 + 2) : flow.l4 + type_at(l3 + 4);
    flow.pseudo = internet_sum(addresses, 0, addresses.size(), protocol);
    const std::size_t least = flow.l4 + (flow.tcp ? 20 : 8);
    flow.summed = flow.ports && flow.end <= frame.size() && flow.end >= least &&
                  (flow.tcp || type_at(flow.l4 + 6) != 0);
    if (v4 && flow.ports) {
        Frame rest(frame.begin() + static_cast<std::ptrdiff_t>(l3),
                   frame.begin() + static_cast<std::ptrdiff_t>(flow.l4));
        flow.summed = flow.summed && internet_sum(rest, 0, rest.size()) == 0xffff;
        for (const std::size_t changes : {2u, 4u, 10u}) {
            put_be16(rest, changes, 0);
        }
        flow.base = internet_sum(rest, 0, rest.size());
    }
    return flow;
}

/// Mostly IP, with and without VLAN tag, options, ports; some frames are truncated.
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
        if (chance(80)) {  // no fragment; DF and the reserved flag make none
            put(l3 + 6, random() % 4 << 6 & 0xc0);
            put(l3 + 7, 0);
        }
    }
    if (chance(80)) {
        put(l3 + (v4 ? 9 : 6), chance(50) ? 6 : 17);
    }
    return frame;
}

/// A TCP or UDP packet with correct checksums.
struct IpFrame {
    bool v4 = true, tagged = false, tcp = true;
    std::size_t ip_options = 0, tcp_options = 0;  ///< bytes of options
    std::size_t payload = 100;

    [[nodiscard]] std::size_t l3() const { return tagged ? 18 : 14; }
    [[nodiscard]] std::size_t l4() const { return l3() + (v4 ? 20 + ip_options : 40); }
    [[nodiscard]] std::size_t headers() const { return l4() + (tcp ? 20 + tcp_options : 8); }
    static IpFrame any(Random& random) {
        return {random() % 2 == 0, random() % 2 == 0,
                random() % 4 != 0, random() % 11 * 4 * (random() % 2),
                random() % 11 * 4, random() % 300};
    }
    [[nodiscard]] Frame make(Random& random) const {
        Frame f = random_bytes(random, headers() + payload);
        if (tagged) {
            put_be16(f, 12, 0x8100);
        }
        put_be16(f, l3() - 2, v4 ? 0x0800 : 0x86dd);
        const auto protocol = static_cast<std::byte>(tcp ? 6 : 17);
        if (v4) {
            f[l3()] = static_cast<std::byte>(0x45 + ip_options / 4);
            put_be16(f, l3() + 2, static_cast<std::uint32_t>(f.size() - l3()));
            put_be16(f, l3() + 6, 0x4000);
            f[l3() + 9] = protocol;
        } else {
            put_be16(f, l3() + 4, static_cast<std::uint32_t>(f.size() - l4()));
            f[l3() + 6] = protocol;
        }
        if (tcp) {
            f[l4() + 12] = static_cast<std::byte>((5 + tcp_options / 4) << 4);
        }
        make_right(f);
        return f;
    }
    [[nodiscard]] std::size_t checksum() const { return l4() + (tcp ? 16 : 6); }
    [[nodiscard]] std::uint32_t pseudo(const Frame& f) const {
        return flow_of(f, RssKey{}).pseudo + static_cast<std::uint32_t>(f.size() - l4());
    }
    void make_right(Frame& f) const {
        if (v4) {
            put_be16(f, l3() + 10, 0);
            put_be16(f, l3() + 10, ~internet_sum(f, l3(), l4()));
        }
        put_be16(f, checksum(), 0);
        put_be16(f, checksum(), ~internet_sum(f, l4(), f.size(), pseudo(f)));
        if (!tcp && be16_at(f, checksum()) == 0) {
            put_be16(f, checksum(), 0xffff);
        }
    }
};

}  // namespace dingo::rtl
