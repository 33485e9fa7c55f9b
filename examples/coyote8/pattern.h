// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace coyote8 {

/// Fills memory with 32-bit words that count up from `first`, like Coyote's example. `first`
/// differs from run to run, so that a run cannot pass with data of the previous one. The last word
/// is truncated if it does not fit.
void fill(std::span<std::byte> memory, std::uint32_t first);

/// Returns the offset of the first byte that differs from what fill() writes, or nullopt.
std::optional<std::size_t> first_difference(std::span<const std::byte> memory, std::uint32_t first);

}  // namespace coyote8
