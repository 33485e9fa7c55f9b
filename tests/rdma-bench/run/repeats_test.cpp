// SPDX-License-Identifier: BSD-2-Clause
#include "run/repeats.h"

#include <gtest/gtest.h>

#include "exit.h"
#include "run/clock.h"
#include "run/placement.h"

namespace rdma_bench::test {
namespace {

Entry measured(double bytes_per_second) {
    Entry entry;
    entry.size = 100;
    entry.iterations = 10;
    entry.bytes = 1000;
    entry.seconds = 2;
    entry.bandwidth = Bandwidth{bytes_per_second, bytes_per_second * 2, bytes_per_second / 100};
    entry.counters = {{"c", 5, 8}};
    entry.cpu.messages = 10;
    entry.series = {{1, 4}, {2, 6}};
    entry.verification = Verification{10, 1000, 0, 0, ""};
    return entry;
}

TEST(Repeats, FiguresAreMediansAndCountsAreSums) {
    const Entry sum = combine({measured(300), measured(100), measured(200)});
    EXPECT_DOUBLE_EQ(sum.bandwidth->average, 200);
    EXPECT_DOUBLE_EQ(sum.bandwidth->message_rate, 2);
    EXPECT_DOUBLE_EQ(sum.bandwidth->peak, 600);
    EXPECT_EQ(sum.iterations, 30U);
    EXPECT_EQ(sum.cpu.messages, 30U);
    EXPECT_EQ(sum.counters[0].after - sum.counters[0].before, 9U);
    EXPECT_EQ(sum.verification->messages, 30U);
    ASSERT_EQ(sum.repeats.size(), 3U);
    EXPECT_DOUBLE_EQ(sum.repeats[1].bandwidth, 100) << "in the order of measurement";
    ASSERT_EQ(sum.series.size(), 6U);
    EXPECT_DOUBLE_EQ(sum.series[5].seconds, 6) << "one after the other";
}

TEST(Repeats, LatenciesAreThoseOfAllTogether) {
    Entry one, other;
    one.latency = Histogram(1.0);
    other.latency = Histogram(1.000001);  // calibrated again
    one.latency->record(1000);
    other.latency->record(3000);
    const Entry sum = combine({one, other});
    EXPECT_EQ(sum.latency->count(), 2U);
    EXPECT_NEAR(sum.repeats[0].median, 1000, 1);
    EXPECT_NEAR(sum.repeats[1].median, 3000, 1);
}

TEST(Clock, ACounterThatStopsOrChangesItsSpeedIsNotUsed) {
    EXPECT_TRUE(
        counter_is_steady("processor\t: 0\nflags\t\t: fpu constant_tsc rep_good "
                          "nonstop_tsc\nbugs: x\n"));
    EXPECT_FALSE(counter_is_steady("\nflags\t\t: fpu constant_tsc rep_good\n"));
    EXPECT_FALSE(counter_is_steady("\nflags\t\t: fpu nonstop_tsc\n"));
    EXPECT_FALSE(counter_is_steady("\nflags\t\t: fpu constant_tsc\nflags\t: nonstop_tsc\n"));
    EXPECT_FALSE(counter_is_steady("\nflags\t\t: nonconstant_tsc_x nonstop_tsc_y\n"));
    EXPECT_FALSE(counter_is_steady(""));
    EXPECT_FALSE(clock_text().empty());
}

TEST(Placement, ListsAreShort) {
    EXPECT_EQ(ranges(std::vector<unsigned>{0, 2, 3, 4, 7, 8}), "0,2-4,7,8");
    EXPECT_EQ(ranges(std::vector<unsigned>{}), "");
}

TEST(Placement, ProcessorsThatThisProcessMayNotUseAreRefused) {
    EXPECT_THROW(check_pin(std::vector<unsigned>{1023}), RunError);
    EXPECT_NO_THROW(check_pin({}));
}

}  // namespace
}  // namespace rdma_bench::test
