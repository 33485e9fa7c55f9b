// SPDX-License-Identifier: BSD-2-Clause
//
// Fields of Verilated ports that are wider than 64 bits: arrays of 32-bit words, bit 0 first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dingo::rtl {

/// Sets `width` (1..64) bits from bit `low` on to `value`.
inline void put_bits(std::uint32_t* words, unsigned low, unsigned width, std::uint64_t value) {
    while (width != 0) {
        const unsigned shift = low % 32;
        const unsigned n = std::min(32 - shift, width);
        const std::uint32_t mask = (n == 32 ? ~0u : (1u << n) - 1) << shift;
        std::uint32_t& word = words[low / 32];
        word = (word & ~mask) | (static_cast<std::uint32_t>(value) << shift & mask);
        value = n == 64 ? 0 : value >> n;
        low += n;
        width -= n;
    }
}

/// `width` (1..64) bits from bit `low` on.
inline std::uint64_t get_bits(const std::uint32_t* words, unsigned low, unsigned width) {
    std::uint64_t value = 0;
    for (unsigned done = 0; done < width;) {
        const unsigned shift = (low + done) % 32;
        const unsigned n = std::min(32 - shift, width - done);
        const std::uint64_t part = words[(low + done) / 32] >> shift & ((1ull << n) - 1);
        value |= part << done;
        done += n;
    }
    return value;
}

/// Bytes into bits from `low` on, byte 0 lowest.
inline void put_bytes(std::uint32_t* words, unsigned low, std::span<const std::uint8_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        put_bits(words, low + 8 * static_cast<unsigned>(i), 8, bytes[i]);
    }
}

inline void get_bytes(const std::uint32_t* words, unsigned low, std::span<std::uint8_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] =
            static_cast<std::uint8_t>(get_bits(words, low + 8 * static_cast<unsigned>(i), 8));
    }
}

}  // namespace dingo::rtl
