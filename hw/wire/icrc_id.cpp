// SPDX-License-Identifier: BSD-2-Clause
#include "wire/icrc_id.h"

#include <bit>

namespace dingo {
namespace {

// Polynomials modulo that of the CRC, reflected: bit 31 is x^0.
constexpr std::uint32_t kPolynomial = 0xedb88320;
constexpr std::uint32_t kOne = 0x80000000;
constexpr std::uint32_t kByte = kOne >> 8;  // x^8: shift by one byte

constexpr std::uint32_t times_x(std::uint32_t a) {
    return a >> 1 ^ ((a & 1) != 0 ? kPolynomial : 0);
}

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t out = 0;
    for (; a != 0; a <<= 1, b = times_x(b))
        out ^= (a & kOne) != 0 ? b : 0;
    return out;
}

constexpr std::uint32_t power(std::uint32_t base, std::size_t exponent) {
    std::uint32_t out = kOne;
    for (; exponent != 0; exponent >>= 1, base = multiply(base, base))
        if ((exponent & 1) != 0)
            out = multiply(out, base);
    return out;
}

/// Returns the CRC register, initially zero, after the two bytes of a field.
constexpr std::uint32_t register_of(std::uint16_t field) {
    std::uint32_t out = 0;
    for (const unsigned byte : {unsigned{field} >> 8, unsigned{field} & 0xff}) {
        out ^= byte;
        for (int bit = 0; bit < 8; bit++)
            out = times_x(out);
    }
    return out;
}

}  // namespace

IcrcShift::IcrcShift(std::size_t bytes_behind) : bytes_behind_(bytes_behind) {
    const std::uint32_t distance = power(kByte, bytes_behind);
    for (unsigned i = 0; i < 16; i++) {
        basis_[i] = multiply(distance, register_of(static_cast<std::uint16_t>(1U << i)));
        Row row{basis_[i], static_cast<std::uint16_t>(1U << i)};
        while (row.vector != 0) {
            Row& at = rows_[static_cast<std::size_t>(std::countl_zero(row.vector))];
            if (at.vector == 0) {
                at = row;
                break;
            }
            row.vector ^= at.vector;
            row.bits ^= at.bits;
        }
    }
}

std::optional<std::uint16_t> IcrcShift::solve(std::uint32_t icrc_change) const {
    std::uint16_t bits = 0;
    while (icrc_change != 0) {
        const Row& row = rows_[static_cast<std::size_t>(std::countl_zero(icrc_change))];
        if (row.vector == 0)
            return std::nullopt;
        icrc_change ^= row.vector;
        bits ^= row.bits;
    }
    return bits;
}

}  // namespace dingo
