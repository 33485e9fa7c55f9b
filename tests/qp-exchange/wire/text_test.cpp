// SPDX-License-Identifier: BSD-2-Clause
// Tests that a peer's text, which may be shown on a terminal, is valid UTF-8 without control
// characters.
#include "wire/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace qpx::wire {
namespace {

TEST(Text, TakesUtf8) {
    for (const char* text :
         {"", "node-7 (pid 12)", "z\xc3\xbcrich", "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x90\xb6"}) {
        EXPECT_TRUE(is_text(std::string_view(text))) << text;
    }
}

TEST(Text, RefusesControlCharactersAndEscapes) {
    for (const char* text : {"a\nb", "\x1b[2J", "\x7f", "tab\t"}) {
        EXPECT_FALSE(is_text(std::string_view(text))) << text;
    }
    EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
}

TEST(Text, RefusesOverlongSurrogatesAndCutSequences) {
    for (const char* text :
         {"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
          "\x80", "\xc3", "\xe4\xb8", "\xf0\x9f\x90", "\xc3\x28"}) {
        EXPECT_FALSE(is_text(std::string_view(text))) << text;
    }
}

TEST(Text, TakesTheFirstAndTheLastCharacterOfEachLength) {
    for (const char* text :
         {" ", "~", "\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_TRUE(is_text(std::string_view(text))) << text;
    }
    for (const char* beside :
         {"\x1f", "\x7f", "\xc2\x80", "\xc2\x9b", "\xc2\x9f", "\xc1\xbf", "\xe0\x9f\xbf",
          "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
        EXPECT_FALSE(is_text(std::string_view(beside))) << beside;
    }
}

TEST(Text, IsCutWhereACharacterEnds) {
    const std::string_view text = "a\xc3\xbc\xf0\x9f\x90\xb6";
    for (const auto& [bytes, left] :
         {std::pair{0U, 0U}, {1, 1}, {2, 1}, {3, 3}, {4, 3}, {6, 3}, {7, 7}, {8, 7}}) {
        EXPECT_EQ(cut(text, bytes), text.substr(0, left)) << bytes;
    }
    EXPECT_EQ(cut("\xbc\xbc", 1), "");
}

TEST(Text, HexDigitsAreTheseAndNoOthers) {
    const std::string_view digits = "0123456789abcdef", upper = "0123456789ABCDEF";
    for (int c = -128; c < 128; ++c) {
        const auto at =
            std::min(digits.find(static_cast<char>(c)), upper.find(static_cast<char>(c)));
        EXPECT_EQ(hex_digit(static_cast<char>(c)),
                  at == std::string_view::npos ? -1 : static_cast<int>(at))
            << c;
    }
}

}  // namespace
}  // namespace qpx::wire
