// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernels must compute, written down once more and without their tricks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace local_transfer {

/// Small, large and negative words, others for each seed.
void fill(std::span<std::byte> bytes, std::uint32_t seed);

/// Returns "" when `out` is what the kernel makes of `in`, else the first difference. Accepts
/// everything for a kernel that this program does not know.
std::string first_error(const std::string& kernel, std::uint32_t param,
                        std::span<const std::byte> in, std::span<const std::byte> out);

}  // namespace local_transfer
