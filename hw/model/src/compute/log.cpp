// SPDX-License-Identifier: BSD-2-Clause
//
// Integer logarithm, bit-identical in all engines. The algorithm is described in
// docs/reference/compute.md.
#include <bit>

#include "dingo_log_table.h"
#include "kernels.h"

namespace dingo::model::compute {
namespace {

constexpr unsigned kFractionBits = 30;  // of the table
constexpr unsigned kMantissaBits = 24;  // of a single, with the leading 1
constexpr unsigned kExponentBias = 127;
constexpr unsigned kSegmentShift = 24;  // of 31 fraction bits

/// Number of zeros above the highest bit; `number` is at least 1.
template <typename Number>
unsigned zeros_above(Number number) noexcept {
    return static_cast<unsigned>(std::countl_zero(number | Number{1}));
}

/// Returns units * 2^-30 as a single, rounded half up. `units` is not 0.
std::uint32_t to_single(std::uint64_t units) noexcept {
    const unsigned zeros = zeros_above(units);
    const std::uint64_t top = units << zeros;
    const auto mantissa = static_cast<std::uint32_t>(top >> (64 - kMantissaBits));
    const auto next_bit = static_cast<std::uint32_t>(top >> (63 - kMantissaBits) & 1);
    const std::uint32_t exponent = kExponentBias + 63 - zeros - kFractionBits;
    // A mantissa rounded up to 2^24 carries into the exponent.
    return (exponent << (kMantissaBits - 1)) + (mantissa - (1U << (kMantissaBits - 1))) + next_bit;
}

}  // namespace

std::uint32_t log_plus_one(std::int32_t value) noexcept {
    if (value <= 0) {
        return 0;  // ln 1
    }
    const std::uint32_t number = static_cast<std::uint32_t>(value) + 1;
    const unsigned zeros = zeros_above(number);
    const std::uint32_t fraction = (number << zeros) & INT32_MAX;
    const dingo_log_segment& segment = dingo_log_segments[fraction >> kSegmentShift];
    const std::uint64_t t = fraction & ((1U << kSegmentShift) - 1);
    const std::uint64_t bend = segment.c2 * (t >> 8) >> 16;
    const std::uint64_t rise = (segment.c1 - bend) * t >> kSegmentShift;
    return to_single(dingo_log_powers[31 - zeros] + segment.c0 + rise);
}

}  // namespace dingo::model::compute
