// SPDX-License-Identifier: BSD-2-Clause
#include "report/axis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rdma_bench::report {
namespace {

std::vector<std::string> labels(const Axis& axis) {
    std::vector<std::string> out;
    for (const Tick& tick : axis.ticks()) {
        if (!tick.label.empty()) {
            out.push_back(tick.label);
        }
    }
    return out;
}

using Labels = std::vector<std::string>;

TEST(Axis, LinearStartsAtZeroAndEndsOnAStepAboveTheData) {
    const Axis axis(Scale::kLinear, Unit::kGigabits, 3, 93, 6);
    EXPECT_EQ(labels(axis), (Labels{"0", "20", "40", "60", "80", "100"}));
    EXPECT_DOUBLE_EQ(axis.place(50), 0.5);
}

TEST(Axis, SizesAreLabelledWhereTheyAreRound) {
    const Axis axis(Scale::kLog2, Unit::kBytes, 2, 8388608, 6);
    EXPECT_EQ(labels(axis), (Labels{"16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"}));
    EXPECT_DOUBLE_EQ(axis.place(2), 0);
    EXPECT_DOUBLE_EQ(axis.place(8388608), 1);
}

TEST(Axis, OneValueLiesInTheMiddle) {
    EXPECT_DOUBLE_EQ(Axis(Scale::kLog2, Unit::kBytes, 64, 64, 6).place(64), 0.5);
    const Axis lonely(Scale::kLog10, Unit::kMicroseconds, 2, 2, 6);
    EXPECT_GT(lonely.place(2), 0.2);
    EXPECT_LT(lonely.place(2), 0.8);
}

TEST(Axis, LogarithmUnderTwoDecadesHasOneTwoFive) {
    EXPECT_EQ(labels(Axis(Scale::kLog10, Unit::kMicroseconds, 1.8, 9, 6)),
              (Labels{"1 \xC2\xB5s", "2 \xC2\xB5s", "5 \xC2\xB5s", "10 \xC2\xB5s"}));
}

TEST(Axis, LogarithmOverManyDecadesLeavesLabelsOut) {
    const Axis axis(Scale::kLog10, Unit::kCount, 1, 1e12, 6);
    EXPECT_GE(labels(axis).size(), 3U);
    EXPECT_LE(labels(axis).size(), 7U);
}

TEST(Axis, EachNineOfAPercentileHasTheSameRoom) {
    const Axis axis(Scale::kNines, Unit::kPercent, 0, 99.999, 7);
    EXPECT_EQ(labels(axis), (Labels{"0", "50", "90", "99", "99.9", "99.99", "99.999"}));
    EXPECT_NEAR(axis.place(99) - axis.place(90), axis.place(99.9) - axis.place(99), 1e-9);
    EXPECT_DOUBLE_EQ(axis.place(100), 1);
}

TEST(Axis, TakesAnyBoundsWithoutLosingItsTicks) {
    const double values[] = {0.0, -5, 1e-30, 1e-3, 1, 7, 1e9, 1e30, std::nan(""), 1.0 / 0.0};
    for (const Scale scale : {Scale::kLinear, Scale::kLog2, Scale::kLog10, Scale::kNines}) {
        for (const double low : values) {
            for (const double high : values) {
                const Axis axis(scale, Unit::kPlain, low, high, 6);
                EXPECT_GE(axis.ticks().size(), 2U) << low << " to " << high;
                EXPECT_LE(axis.ticks().size(), 140U) << low << " to " << high;
                EXPECT_LE(labels(axis).size(), 24U) << low << " to " << high;
                for (const Tick& tick : axis.ticks()) {
                    const double place = axis.place(tick.value);
                    EXPECT_TRUE(place >= 0 && place <= 1) << place;
                }
            }
        }
    }
}

}  // namespace
}  // namespace rdma_bench::report
