// SPDX-License-Identifier: BSD-2-Clause
#include "tcp_frame.h"

#include <algorithm>

#include "dingo/packet/bytes.h"

namespace dingo::conformance {

using test::FrameBytes;

std::uint16_t get16(const FrameBytes& frame, std::size_t at) {
    return packet::load_be16(&frame[at]);
}

std::uint32_t get32(const FrameBytes& frame, std::size_t at) {
    return packet::load_be32(&frame[at]);
}

void put16(FrameBytes& frame, std::size_t at, std::uint16_t value) {
    packet::store_be16(&frame[at], value);
}

std::uint16_t sum_of(const FrameBytes& frame, const FrameOf& f, std::size_t from, std::size_t to,
                     bool pseudo) {
    const Places at(f);
    std::uint32_t sum = 0;
    const auto add = [&](std::size_t first, std::size_t last) {
        for (std::size_t n = first; n < last; ++n) {
            const auto value = std::to_integer<std::uint32_t>(frame[n]);
            sum += (n - first) % 2 == 0 ? value << 8 : value;
        }
    };
    add(from, to);
    if (pseudo) {
        add(f.ipv6 ? at.l3 + 8 : at.l3 + 12, at.l4);
        sum += f.protocol + static_cast<std::uint32_t>(frame.size() - at.l4);
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

FrameBytes frame_of(const FrameOf& f) {
    const Places at(f);
    FrameBytes frame(at.payload + f.payload);
    const auto put = [&](std::size_t where, std::initializer_list<unsigned> bytes) {
        for (const unsigned b : bytes) {
            frame[where++] = static_cast<std::byte>(b);
        }
    };
    for (std::size_t n = 0; n < f.payload; ++n) {
        frame[at.payload + n] = static_cast<std::byte>(n * 13 + (n >> 8));
    }
    std::ranges::copy(std::as_bytes(std::span(f.to)), frame.begin());
    put(6, {0x02, 0x44, 0x49, 0, 0, 1});
    if (f.tagged) {
        put(12, {0x81, 0, 0, 7});
    }
    put16(frame, at.l3 - 2, f.ipv6 ? 0x86dd : 0x0800);
    const auto length = static_cast<std::uint16_t>(frame.size() - (f.ipv6 ? at.l4 : at.l3));
    if (f.ipv6) {
        put(at.l3, {0x60, 0, 0, 0, 0, 0, f.protocol, 64});
        put16(frame, at.l3 + 4, length);
        put(at.l3 + 8, {0x3f, 0xfe, 0x25, 0x01, 0x02, 0, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0, 7});
        put(at.l3 + 24, {0x3f, 0xfe, 0x25, 0x01, 0x02, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1});
    } else {
        put(at.l3, {0x45, 0, 0, 0, 0xff, 0xfe, 0x40, 0, 64, f.protocol});
        put16(frame, at.l3 + 2, length);
        put(at.l3 + 12, {66, 9, 149, 187, 161, 142, 100, 80});
        put16(frame, at.l3 + 10,
              static_cast<std::uint16_t>(~sum_of(frame, f, at.l3, at.l4, false)));
    }
    put16(frame, at.l4, f.source_port);
    put16(frame, at.l4 + 2, f.destination_port);
    if (f.protocol == 6) {
        put(at.l4 + 4, {0xff, 0xff, 0xff, 0x00, 1, 2, 3, 4});
        put(at.l4 + 12, {static_cast<unsigned>((20 + f.options) / 4 << 4), f.tcp_flags, 0x10, 0});
    } else {
        put16(frame, at.l4 + 4, static_cast<std::uint16_t>(frame.size() - at.l4));
    }
    put16(frame, at.checksum,
          static_cast<std::uint16_t>(~sum_of(frame, f, at.l4, frame.size(), true)));
    return frame;
}

bool is_right(const FrameBytes& frame, const FrameOf& f) {
    const Places at(f);
    return (f.ipv6 || sum_of(frame, f, at.l3, at.l4, false) == 0xffff) &&
           sum_of(frame, f, at.l4, frame.size(), true) == 0xffff;
}

}  // namespace dingo::conformance
