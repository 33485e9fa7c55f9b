// SPDX-License-Identifier: BSD-2-Clause
// Integers in network byte order.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qpx::wire {

template <std::unsigned_integral T>
void store(std::byte* at, T value) {
    for (std::size_t i = sizeof(T); i-- > 0; value = static_cast<T>(value >> 7 >> 1)) {
        at[i] = static_cast<std::byte>(value & 0xff);
    }
}

template <std::unsigned_integral T>
T load(const std::byte* at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = static_cast<T>(value << 7 << 1 | std::to_integer<T>(at[i]));
    }
    return value;
}

template <std::unsigned_integral T>
void append(std::vector<std::byte>& out, T value) {
    const std::size_t at = out.size();
    out.resize(at + sizeof(T));
    store(out.data() + at, value);
}

}  // namespace qpx::wire
