// SPDX-License-Identifier: BSD-2-Clause
//
// The heap of the QPs' timers alone: it stays ordered whatever is removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <vector>

#include "queue_pair.h"
#include "transport/timers.h"
#include "transport/transport_state.h"

namespace dingo::model {
namespace {

TEST(Timers, DestroyedQpsLeaveTheOthersInOrder) {
    constexpr std::size_t kCount = 64;
    constexpr unsigned kRounds = 50;
    std::array<QueuePair, kCount> qps;
    for (QueuePair& qp : qps)
        qp.transport = std::make_unique<TransportState>();
    Timers timers;
    std::mt19937 random(1);
    for (unsigned round = 0; round < kRounds; ++round) {
        std::array<Nanoseconds, kCount> when;
        std::ranges::generate(when, [n = Nanoseconds{0}]() mutable { return ++n * 10; });
        std::ranges::shuffle(when, random);
        std::vector<Nanoseconds> left;
        for (std::size_t i = 0; i < kCount; ++i)
            timers.set(qps[i], when[i]);
        for (std::size_t i = 0; i < kCount; ++i)
            if (random() % 3 == 0)
                timers.remove(qps[i]);
            else
                left.push_back(when[i]);
        std::ranges::sort(left);
        for (const Nanoseconds due : left) {
            EXPECT_EQ(timers.take_due(due - 1), nullptr) << due;
            const QueuePair* const qp = timers.take_due(due);
            ASSERT_NE(qp, nullptr) << due;
            EXPECT_EQ(when[static_cast<std::size_t>(qp - qps.data())], due);
        }
        EXPECT_EQ(timers.earliest(), kNever);
    }
}

TEST(Timers, AnEarlierTimeOfAQpThatWaitsCounts) {
    std::array<QueuePair, 2> qps;
    for (QueuePair& qp : qps)
        qp.transport = std::make_unique<TransportState>();
    Timers timers;
    timers.set(qps[0], 80);
    timers.set(qps[1], 100);
    timers.set(qps[1], 50);
    EXPECT_EQ(timers.take_due(49), nullptr);
    EXPECT_EQ(timers.take_due(50), &qps[1]);
    EXPECT_EQ(timers.take_due(80), &qps[0]);
}

}  // namespace
}  // namespace dingo::model
