// SPDX-License-Identifier: BSD-2-Clause
#include "report/spread.h"

#include <gtest/gtest.h>

#include <random>

namespace rdma_bench {
namespace {

TEST(Spread, FromSixValuesOnTheIntervalDecides) {
    EXPECT_FALSE(spread_of({}).decides());
    EXPECT_FALSE(spread_of({1}).decides());
    EXPECT_FALSE(spread_of({1, 2, 3, 4, 5}).decides());
    const Spread six = spread_of({6, 1, 5, 2, 4, 3});
    EXPECT_TRUE(six.decides());
    EXPECT_DOUBLE_EQ(six.median, 3.5);
    EXPECT_DOUBLE_EQ(six.low, 1);
    EXPECT_DOUBLE_EQ(six.high, 6);
    EXPECT_NEAR(six.confidence, 1 - 2.0 / 64, 1e-12);
}

TEST(Spread, OneOutlierOfNineIsOutsideTheInterval) {
    const Spread nine = spread_of({1, 2, 3, 4, 5, 6, 7, 8, 1000});
    EXPECT_DOUBLE_EQ(nine.median, 5);
    EXPECT_DOUBLE_EQ(nine.low, 2);
    EXPECT_DOUBLE_EQ(nine.high, 8);
    EXPECT_NEAR(nine.confidence, 1 - 2 * 10.0 / 512, 1e-12);
}

/// The interval must hold the true median in 95 of 100 cases, whatever the distribution.
TEST(Spread, TheIntervalHoldsTheTrueMedianAsOftenAsItSays) {
    std::mt19937 random(1);
    std::lognormal_distribution<double> skewed(0, 1);  // its median is 1
    for (const unsigned count : {6U, 10U, 25U, 2000U}) {
        unsigned held = 0;
        const unsigned trials = count < 100 ? 2000 : 200;
        for (unsigned trial = 0; trial < trials; ++trial) {
            std::vector<double> values;
            for (unsigned i = 0; i < count; ++i) {
                values.push_back(skewed(random));
            }
            const Spread s = spread_of(values);
            EXPECT_TRUE(s.decides());
            held += s.low <= 1 && 1 <= s.high ? 1 : 0;
        }
        EXPECT_GE(held, trials * 93 / 100) << count;
    }
}

}  // namespace
}  // namespace rdma_bench
