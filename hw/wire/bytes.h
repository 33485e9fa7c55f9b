// SPDX-License-Identifier: BSD-2-Clause
//
// Loads and stores 16-bit header fields in network byte order, for arithmetic on frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dingo/packet/bytes.h"

namespace dingo {

/// Stores the low 16 bits of `value`.
inline void put16(std::byte* p, std::size_t value) {
    packet::store_be16(p, static_cast<std::uint16_t>(value));
}
inline std::uint32_t get16(const std::byte* p) {
    return packet::load_be16(p);
}

}  // namespace dingo
