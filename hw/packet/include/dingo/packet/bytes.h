// SPDX-License-Identifier: BSD-2-Clause
//
// Big-endian loads and stores on raw bytes, and named bit fields inside a loaded word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dingo::packet {

static_assert(std::endian::native == std::endian::little, "the byte swaps below assume it");

/// Return 2, 4 or 8 big-endian bytes at `p` as an integer in host byte order. `p` may be unaligned.
inline std::uint16_t load_be16(const std::byte* p) noexcept {
    std::uint16_t v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}
inline std::uint32_t load_be32(const std::byte* p) noexcept {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}
inline std::uint64_t load_be64(const std::byte* p) noexcept {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}
/// Returns 4 little-endian bytes at `p`: only the ICRC is little-endian in a RoCE frame.
inline std::uint32_t load_le32(const std::byte* p) noexcept {
    std::uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

/// Store `v`, in host byte order, as 2, 4 or 8 big-endian bytes at `p`, which may be unaligned.
inline void store_be16(std::byte* p, std::uint16_t v) noexcept {
    v = __builtin_bswap16(v);
    std::memcpy(p, &v, sizeof v);
}
inline void store_be32(std::byte* p, std::uint32_t v) noexcept {
    v = __builtin_bswap32(v);
    std::memcpy(p, &v, sizeof v);
}
inline void store_be64(std::byte* p, std::uint64_t v) noexcept {
    v = __builtin_bswap64(v);
    std::memcpy(p, &v, sizeof v);
}
/// Stores `v` as 4 little-endian bytes at `p`.
inline void store_le32(std::byte* p, std::uint32_t v) noexcept {
    std::memcpy(p, &v, sizeof v);
}

/// A field of `Width` bits whose least significant bit is bit `Shift` of a word in host order.
template <unsigned Shift, unsigned Width>
struct Bits {
    static_assert(Width > 0 && Shift + Width <= 32);
    static constexpr std::uint32_t kMax = static_cast<std::uint32_t>((1ULL << Width) - 1);
    static constexpr std::uint32_t kMask = kMax << Shift;

    /// Returns the field of `word`, shifted down to bit 0.
    static constexpr std::uint32_t get(std::uint32_t word) noexcept {
        return (word >> Shift) & kMax;
    }
    /// Returns `value` shifted to the field's place, to be ORed into a word; excess bits are
    /// dropped.
    static constexpr std::uint32_t put(std::uint32_t value) noexcept {
        return (value & kMax) << Shift;
    }
};

}  // namespace dingo::packet
