// SPDX-License-Identifier: BSD-2-Clause
// Validation of text in messages.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace qpx::wire {

/// Returns true for UTF-8 (no overlong forms, no surrogates) without control characters (C0,
/// DEL, C1).
bool is_text(std::span<const std::byte> value) noexcept;
inline bool is_text(std::string_view value) noexcept {
    return is_text(std::as_bytes(std::span(value)));
}

/// Truncates to at most `bytes` bytes, at the end of a character.
std::string_view cut(std::string_view text, std::size_t bytes) noexcept;

/// Returns 0 to 15, or -1 if `c` is not a hexadecimal digit.
int hex_digit(char c) noexcept;

}  // namespace qpx::wire
