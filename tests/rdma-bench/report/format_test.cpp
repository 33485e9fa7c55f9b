// SPDX-License-Identifier: BSD-2-Clause
#include "report/format.h"

#include <gtest/gtest.h>

namespace rdma_bench::report {
namespace {

TEST(Format, ThreeDigits) {
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

TEST(Format, UnitsChangeWhereTheRoundedNumberDoes) {
    EXPECT_EQ(format_bytes(64), "64 B");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(8388608), "8 MiB");
    EXPECT_EQ(format_microseconds(0.85), "850 ns");
    EXPECT_EQ(format_microseconds(0.9999), "1 \xC2\xB5s");
    EXPECT_EQ(format_microseconds(999.6), "1 ms");
    EXPECT_EQ(format_microseconds(2.5e6), "2.5 s");
    EXPECT_EQ(format_microseconds(0), "0 ns");
    EXPECT_EQ(format_count(950), "950");
    EXPECT_EQ(format_count(999.7), "1 k");
    EXPECT_EQ(format_count(4.56e6), "4.56 M");
}

}  // namespace
}  // namespace rdma_bench::report
