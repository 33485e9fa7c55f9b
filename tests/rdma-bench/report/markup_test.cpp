// SPDX-License-Identifier: BSD-2-Clause
#include "report/markup.h"

#include <gtest/gtest.h>

namespace rdma_bench::report {
namespace {

TEST(Markup, EscapesWhatEndsTextAndAttributes) {
    EXPECT_EQ(escape_markup("<script>alert(\"x\") & 'y'</script>"),
              "&lt;script&gt;alert(&quot;x&quot;) &amp; &#39;y&#39;&lt;/script&gt;");
}

TEST(Markup, KeepsUtf8AndReplacesWhatIsNot) {
    EXPECT_EQ(escape_markup("\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x98\x80"),
              "\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x98\x80");
    // A lone continuation, an overlong slash, a surrogate, a cut-off sequence, beyond U+10FFFF.
    EXPECT_EQ(escape_markup("\x80"), "\xEF\xBF\xBD");
    EXPECT_EQ(escape_markup("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(escape_markup("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(escape_markup("a\xE2\x82"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
    EXPECT_EQ(escape_markup("\xF4\x90\x80\x80").substr(0, 3), "\xEF\xBF\xBD");
}

TEST(Markup, ReplacesControlsAndMarksOfDirection) {
    EXPECT_EQ(escape_markup(std::string_view("a\0b\x1B[31m", 8)),
              "a\xEF\xBF\xBD"
              "b\xEF\xBF\xBD[31m");
    EXPECT_EQ(escape_markup("\xE2\x80\xAE"
                            "evil"),
              "\xEF\xBF\xBD"
              "evil");
    EXPECT_EQ(escape_markup("two\nlines\t"), "two\nlines\t");
}

TEST(Markup, ThreeDigits) {
    EXPECT_EQ(three_digits(0), "0");
    EXPECT_EQ(three_digits(0.5), "0.5");
    EXPECT_EQ(three_digits(12.345), "12.3");
    EXPECT_EQ(three_digits(9.999), "10");
    EXPECT_EQ(three_digits(1234), "1230");
    EXPECT_EQ(three_digits(100), "100");
    EXPECT_EQ(three_digits(-0.25), "-0.25");
    EXPECT_EQ(three_digits(0.00012345), "0.000123");
    EXPECT_EQ(three_digits(1.0 / 0.0), "?");
}

TEST(Markup, UnitsChangeWhereTheRoundedNumberDoes) {
    EXPECT_EQ(format_bytes(64), "64 B");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(8388608), "8 MiB");
    EXPECT_EQ(format_microseconds(0.85), "850 ns");
    EXPECT_EQ(format_microseconds(0.9999), "1 \xC2\xB5s");
    EXPECT_EQ(format_microseconds(999.6), "1 ms");
    EXPECT_EQ(format_microseconds(2.5e6), "2.5 s");
    EXPECT_EQ(format_microseconds(0), "0 \xC2\xB5s");
    EXPECT_EQ(format_count(950), "950");
    EXPECT_EQ(format_count(999.7), "1 k");
    EXPECT_EQ(format_count(4.56e6), "4.56 M");
}

}  // namespace
}  // namespace rdma_bench::report
