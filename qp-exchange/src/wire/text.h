// SPDX-License-Identifier: BSD-2-Clause
// What may travel as text.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace qpx::wire {

/// UTF-8 (no overlong forms, no surrogates) without control characters.
bool is_text(std::span<const std::byte> value) noexcept;
inline bool is_text(std::string_view value) noexcept {
    return is_text(std::as_bytes(std::span(value)));
}

/// 0 to 15, -1 when it is none.
int hex_digit(char c) noexcept;

}  // namespace qpx::wire
