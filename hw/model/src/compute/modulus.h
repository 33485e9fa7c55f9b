// SPDX-License-Identifier: BSD-2-Clause
//
// Computes remainders without a divider, by a precomputed reciprocal.
#pragma once

#include <cstdint>

namespace dingo::model::compute {

/// Returns floor((2^32 - 1) / modulus); 0 for modulus 0, which no kernel uses.
constexpr std::uint32_t reciprocal_of(std::uint32_t modulus) noexcept {
    return modulus == 0 ? 0 : UINT32_MAX / modulus;
}

/// Returns value mod modulus. The quotient by the reciprocal is exact or one too small.
constexpr std::uint32_t remainder(std::uint32_t value, std::uint32_t modulus,
                                  std::uint32_t reciprocal) noexcept {
    const std::uint64_t quotient = std::uint64_t{value} * reciprocal >> 32;
    const std::uint64_t rest = value - quotient * modulus;
    return static_cast<std::uint32_t>(rest >= modulus ? rest - modulus : rest);
}

}  // namespace dingo::model::compute
