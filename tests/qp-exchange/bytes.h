// SPDX-License-Identifier: BSD-2-Clause
// Helpers for tests: bytes from hexadecimal text, and checks of expected errors.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "qpx/error.h"

namespace qpx::test {

/// Converts hexadecimal digits, such as "51 50 58 31 | 01", to bytes; blanks and bars are skipped.
inline std::vector<std::byte> hex(std::string_view text) {
    std::vector<std::byte> bytes;
    std::string digits;
    for (const char c : text) {
        if (c != ' ' && c != '|' && c != '\n') {
            digits += c;
        }
    }
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

inline std::string to_hex(const std::vector<std::byte>& bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        text += digits[std::to_integer<unsigned>(byte) >> 4];
        text += digits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

/// Runs CALL, expects an Error of that code whose text contains WORDS, and returns its detail.
template <class Call>
int expect_error(ErrorCode code, std::string_view words, Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(to_string(error.code()), std::string(to_string(code))) << error.what();
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        return error.detail();
    }
    ADD_FAILURE() << "no error; expected \"" << words << "\"";
    return -1;
}

}  // namespace qpx::test
