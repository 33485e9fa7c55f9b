// SPDX-License-Identifier: BSD-2-Clause
//
// Simple reference implementations of the compute kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace local_transfer {

/// Fills memory with small, large and negative words that depend on the seed.
void fill(std::span<std::byte> bytes, std::uint32_t seed);

/// Returns "" if `out` is the kernel's result for `in`, else the first difference. Accepts any data
/// for an unknown kernel.
std::string first_error(const std::string& kernel, std::uint32_t param,
                        std::span<const std::byte> in, std::span<const std::byte> out);

}  // namespace local_transfer
