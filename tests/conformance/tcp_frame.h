// SPDX-License-Identifier: BSD-2-Clause
//
// TCP and UDP frames with checksums computed by this suite.
#pragma once

#include <array>
#include <cstdint>

#include "two_cards.h"

namespace dingo::conformance {

struct FrameOf {
    bool ipv6 = false;
    bool tagged = false;
    std::uint8_t protocol = 6;
    std::size_t options = 0;  ///< bytes of TCP options
    std::size_t payload = 100;
    std::uint8_t tcp_flags = 0x10;
    std::array<std::uint8_t, 6> to = {0x02, 0x44, 0x49, 0x00, 0x00, 0x02};
    std::uint16_t source_port = 2794;
    std::uint16_t destination_port = 1766;
};

/// Offsets of the parts of such a frame.
struct Places {
    explicit Places(const FrameOf& f)
        : l3(f.tagged ? 18 : 14),
          l4(l3 + (f.ipv6 ? 40 : 20)),
          payload(l4 + (f.protocol == 6 ? 20 + f.options : 8)),
          checksum(l4 + (f.protocol == 6 ? 16 : 6)) {}
    std::size_t l3, l4, payload, checksum;
};

std::uint16_t get16(const test::FrameBytes& frame, std::size_t at);
std::uint32_t get32(const test::FrameBytes& frame, std::size_t at);
void put16(test::FrameBytes& frame, std::size_t at, std::uint16_t value);

/// Builds a frame with correct checksums. The addresses are those of the published examples of the
/// Toeplitz hash: 66.9.149.187 to 161.142.100.80, 3ffe:2501:200:1fff::7 to 3ffe:2501:200:3::1.
test::FrameBytes frame_of(const FrameOf& f);
/// One's complement sum over [from, to) and, with `pseudo`, the pseudo-header of `f`; folded.
std::uint16_t sum_of(const test::FrameBytes& frame, const FrameOf& f, std::size_t from,
                     std::size_t to, bool pseudo);
/// Checks the checksums of IPv4 and of TCP or UDP of a frame whose lengths are correct.
bool is_right(const test::FrameBytes& frame, const FrameOf& f);

}  // namespace dingo::conformance
