// SPDX-License-Identifier: BSD-2-Clause
#include "dlrm/reference.h"

#include "dingo_log_table.h"

namespace dlrm {
namespace {

/// Returns the position of the highest set bit of a number that is not 0.
unsigned highest(std::uint64_t number) {
    unsigned place = 0;
    while (number >>= 1)
        ++place;
    return place;
}

}  // namespace

std::uint32_t log_bits(std::int32_t x) {
    const std::uint32_t y = x > 0 ? static_cast<std::uint32_t>(x) + 1 : 1;
    if (y == 1)
        return 0;
    const unsigned n = highest(y);
    // The 31 bits below the highest, left-aligned: 7 bits select the segment, 24 the position in
    // it.
    const std::uint64_t fraction = (std::uint64_t{y} << (31 - n)) - (std::uint64_t{1} << 31);
    const dingo_log_segment& s = dingo_log_segments[fraction >> 24];
    const std::uint64_t t = fraction & 0xffffff;
    const std::uint64_t rise = (s.c1 - (s.c2 * (t >> 8) >> 16)) * t >> 24;
    const std::uint64_t v = dingo_log_powers[n] + s.c0 + rise;  // units of 2^-30
    // Round half up to 24 significant bits. v has 29 to 35.
    const unsigned top = highest(v);
    std::uint64_t mantissa = ((v >> (top - 24)) + 1) >> 1;
    unsigned exponent = 127 + top - 30;
    if (mantissa == 1U << 24) {
        mantissa >>= 1;
        ++exponent;
    }
    return exponent << 23 | static_cast<std::uint32_t>(mantissa & 0x7fffff);
}

void preprocess(Record& record, std::uint32_t modulus) {
    for (std::size_t i = 0; i < kDenseColumns; ++i)
        record[kFirstDense + i] = log_bits(static_cast<std::int32_t>(record[kFirstDense + i]));
    for (std::size_t i = 0; i < kSparseColumns; ++i)
        record[kFirstSparse + i] %= modulus;
}

void preprocess(std::span<Record> records, std::uint32_t modulus) {
    for (Record& record : records)
        preprocess(record, modulus);
}

}  // namespace dlrm
