// SPDX-License-Identifier: BSD-2-Clause
// Cryptographically random numbers.
#pragma once
#include <cstdint>

namespace qpx {

/// Returns 32 bits from the kernel. @throws Error(Unsupported) without getrandom()
std::uint32_t random_u32();

}  // namespace qpx
