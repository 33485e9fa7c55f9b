// SPDX-License-Identifier: BSD-2-Clause
// Text from a peer may be shown on a terminal: only clean UTF-8 passes.
#include "wire/text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace qpx::wire
