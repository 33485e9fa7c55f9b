// SPDX-License-Identifier: BSD-2-Clause
//
// The logarithm in integers: equal bits in every engine. The algorithm is in docs/compute.md.
#include <bit>

#include "dingo_log_table.h"
#include "kernels.h"

namespace dingo::model::compute {
namespace {

constexpr int kFractionBits = 30;  // of the table
constexpr int kMantissaBits = 24;  // of a single, with the leading 1
constexpr int kExponentBias = 127;
constexpr unsigned kSegmentShift = 24;  // of 31 fraction bits

/// units * 2^-30 as a single, rounded half up. Not 0, and more than kMantissaBits bits long.
std::uint32_t to_single(std::uint64_t units) noexcept {
    const int drop = std::bit_width(units) - kMantissaBits;
    const std::uint64_t mantissa = (units + (1ULL << (drop - 1))) >> drop;
    const auto exponent =
        static_cast<std::uint32_t>(kExponentBias + drop + kMantissaBits - 1 - kFractionBits);
    // A mantissa rounded up to 2^24 carries into the exponent.
    return (exponent << (kMantissaBits - 1)) +
           static_cast<std::uint32_t>(mantissa - (1ULL << (kMantissaBits - 1)));
}

}  // namespace

std::uint32_t log_plus_one(std::int32_t value) noexcept {
    if (value <= 0) {
        return 0;  // ln 1
    }
    const std::uint32_t number = static_cast<std::uint32_t>(value) + 1;
    const int power = std::bit_width(number) - 1;
    const std::uint32_t fraction = (number << (31 - power)) & INT32_MAX;
    const dingo_log_segment& segment = dingo_log_segments[fraction >> kSegmentShift];
    const std::uint64_t t = fraction & ((1U << kSegmentShift) - 1);
    const std::uint64_t bend = segment.c2 * (t >> 8) >> 16;
    const std::uint64_t rise = (segment.c1 - bend) * t >> kSegmentShift;
    return to_single(dingo_log_powers[power] + segment.c0 + rise);
}

}  // namespace dingo::model::compute
