// SPDX-License-Identifier: BSD-2-Clause
#include "wire/text.h"

#include <cstdint>

namespace qpx::wire {

namespace {

/// Returns the length of the UTF-8 sequence at the start, 0 if it is invalid (overlong, surrogate,
/// truncated).
std::size_t utf8_length(std::span<const std::byte> bytes) {
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    const std::uint32_t lead = at(0);
    if (lead < 0x80) {
        return 1;
    }
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > bytes.size()) {
        return 0;
    }
    std::uint32_t code = lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((at(i) & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (at(i) & 0x3f);
    }
    const bool valid =
        length == 2 || (length == 3 ? code >= 0x800 && (code < 0xd800 || code > 0xdfff)
                                    : code >= 0x10000 && code <= 0x10ffff);
    return valid ? length : 0;
}

/// Returns true for a C0 control character, DEL, or a C1 one (U+0080 to U+009F): terminals take
/// U+009B for the beginning of an escape sequence.
bool is_control(std::span<const std::byte> character) {
    const auto first = std::to_integer<unsigned char>(character[0]);
    if (character.size() == 1) {
        return first < 0x20 || first == 0x7f;
    }
    return first == 0xc2 && std::to_integer<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

std::string_view cut(std::string_view text, std::size_t bytes) noexcept {
    if (text.size() <= bytes) {
        return text;
    }
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) {
        --bytes;
    }
    return text.substr(0, bytes);
}

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_text(std::span<const std::byte> value) noexcept {
    while (!value.empty()) {
        const std::size_t length = utf8_length(value);
        if (length == 0 || is_control(value.first(length))) {
            return false;
        }
        value = value.subspan(length);
    }
    return true;
}

}  // namespace qpx::wire
