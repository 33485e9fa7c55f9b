// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace coyote8 {

/// 32-bit words that count up from `first`, as the example fills its buffer; `first` differs from
/// run to run, so that a run cannot pass with the data of the one before. A last word that does not
/// fit is cut off.
void fill(std::span<std::byte> memory, std::uint32_t first);

/// Position of the first byte that differs from what fill() writes; nothing when none does.
std::optional<std::size_t> first_difference(std::span<const std::byte> memory, std::uint32_t first);

}  // namespace coyote8
