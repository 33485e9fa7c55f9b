// SPDX-License-Identifier: BSD-2-Clause
// Tests of adding up the results of several clients of one server into one row.
#include <gtest/gtest.h>

#include "report/fairness.h"
#include "run/clients.h"

namespace rdma_bench::test {
namespace {

Entry client(double bytes_per_second) {
    Entry entry;
    entry.size = 100;
    entry.iterations = 10;
    entry.bytes = 1000;
    entry.seconds = bytes_per_second / 100;
    entry.bandwidth = Bandwidth{bytes_per_second, 0, bytes_per_second / 100};
    entry.counters = {{"of the port", 5, 8}};
    entry.peer_counters = {{"of that client", 1, 2}};
    entry.cpu.messages = 10;
    entry.rate = RateOutcome{5, 4, 1};
    return entry;
}

TEST(AddUp, RatesAddUpAndEachIsKept) {
    const Entry sum = add_up({client(300), client(100), client(200)});
    EXPECT_DOUBLE_EQ(sum.bandwidth->average, 600);
    EXPECT_DOUBLE_EQ(sum.bandwidth->message_rate, 6);
    EXPECT_EQ(sum.iterations, 30U);
    EXPECT_EQ(sum.bytes, 3000U);
    EXPECT_DOUBLE_EQ(sum.seconds, 3) << "they ran at the same time";
    EXPECT_EQ(sum.cpu.messages, 30U);
    EXPECT_DOUBLE_EQ(sum.rate->wanted, 15);
    EXPECT_EQ(sum.rate->late, 3U);
    ASSERT_EQ(sum.clients.size(), 3U);
    EXPECT_DOUBLE_EQ(sum.clients[1].bandwidth, 100) << "in the order in which they came";
    EXPECT_EQ(sum.clients[2].iterations, 10U);
    EXPECT_EQ(sum.counters[0].after, 8U) << "all see the same port";
    EXPECT_TRUE(sum.peer_counters.empty()) << "their ports are several";
}

TEST(AddUp, TheMedianIsThatOfTheSums) {
    Entry one = client(0), other = client(0);
    for (const double speed : {1.0, 2.0, 9.0}) {
        Repeat repeat;
        repeat.bandwidth = speed;
        one.repeats.push_back(repeat);
        repeat.bandwidth = 10 - speed;
        other.repeats.push_back(repeat);
    }
    const Entry sum = add_up({one, other});
    ASSERT_EQ(sum.repeats.size(), 3U);
    EXPECT_DOUBLE_EQ(sum.repeats[0].bandwidth, 10);
    EXPECT_DOUBLE_EQ(sum.bandwidth->average, 10);
}

TEST(AddUp, TheSeriesHasAllMessages) {
    Entry one = client(1), other = client(1), late = client(1);
    one.series = {{1, 10}, {2, 10}};
    other.series = {{0.9, 5}, {1.1, 5}, {2.2, 5}};
    const Entry sum = add_up({one, other, late});
    ASSERT_EQ(sum.series.size(), 2U);
    EXPECT_EQ(sum.series[0].messages, 15U);
    EXPECT_EQ(sum.series[1].messages, 20U);
}

TEST(Fairness, IsOneWhenAllHaveTheSameAndOneNthWhenOneHasAll) {
    const auto of = [](std::vector<double> speeds) {
        std::vector<ClientShare> clients;
        for (const double speed : speeds) {
            clients.push_back({1, 1, speed, 1});
        }
        return fairness_of(clients);
    };
    EXPECT_DOUBLE_EQ(of({7, 7, 7, 7}).index, 1);
    EXPECT_DOUBLE_EQ(of({0, 8, 0, 0}).index, 0.25);
    EXPECT_DOUBLE_EQ(of({1, 2}).index, 0.9);
    EXPECT_DOUBLE_EQ(of({1, 2}).ratio(), 0.5);
    EXPECT_DOUBLE_EQ(of({0, 0}).index, 0) << "nothing moved";
    EXPECT_DOUBLE_EQ(of({0, 0}).ratio(), 0);
    EXPECT_DOUBLE_EQ(of({}).index, 0);
}

}  // namespace
}  // namespace rdma_bench::test
