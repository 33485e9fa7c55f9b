// SPDX-License-Identifier: BSD-2-Clause
//
// The scheduler alone: order is kept while the queue grows and when QPs are removed, and contexts
// share the card whatever the number of their QPs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "queue_pair.h"
#include "transport/cost.h"
#include "transport/scheduler.h"
#include "transport/transport_state.h"

namespace dingo::model {
namespace {

class SchedulerTest : public testing::Test {
  protected:
    static constexpr std::size_t kRing = 64;  // initial capacity of a ring
    static constexpr std::int64_t kQuantum = Scheduler::kQuantum;

    SchedulerTest() {
        for (QueuePair& qp : qps)
            qp.transport = std::make_unique<TransportState>();
    }
    std::array<QueuePair, kRing + 2> qps;
    Scheduler scheduler;
};

TEST_F(SchedulerTest, OneInFrontOfAFullRingComesFirstAndNobodyIsLost) {
    scheduler.add(qps[kRing]);
    EXPECT_EQ(scheduler.take(), &qps[kRing]);  // so that the ring does not begin at index 0
    for (std::size_t i = 0; i < kRing; ++i)
        scheduler.add(qps[i]);
    scheduler.add_first(qps[kRing]);
    EXPECT_EQ(scheduler.take(), &qps[kRing]);
    for (std::size_t i = 0; i < kRing; ++i)
        EXPECT_EQ(scheduler.take(), &qps[i]) << i;
    EXPECT_EQ(scheduler.take(), nullptr);
}

TEST_F(SchedulerTest, OneBehindAFullRingComesLast) {
    scheduler.add(qps[kRing]);
    for (std::size_t i = 0; i < kRing; ++i) {  // the ring begins at any index
        scheduler.add(qps[i]);
        EXPECT_EQ(scheduler.take(), &qps[i == 0 ? kRing : i - 1]);
    }
    EXPECT_EQ(scheduler.take(), &qps[kRing - 1]);
    for (std::size_t i = 0; i <= kRing; ++i)
        scheduler.add(qps[i]);
    for (std::size_t i = 0; i <= kRing; ++i)
        EXPECT_EQ(scheduler.take(), &qps[i]) << i;
    EXPECT_EQ(scheduler.take(), nullptr);
}

TEST_F(SchedulerTest, NobodyHasTwoPlaces) {
    scheduler.add(qps[0]);
    EXPECT_EQ(scheduler.take(), &qps[0]);
    scheduler.add_first(qps[0]);
    scheduler.add(qps[0]);
    scheduler.add_first(qps[0]);
    EXPECT_EQ(scheduler.take(), &qps[0]);
    EXPECT_EQ(scheduler.take(), nullptr);
}

TEST_F(SchedulerTest, WhoIsRemovedHasNoTurnWhereverItStood) {
    scheduler.add(qps[0]);
    scheduler.add(qps[1]);
    scheduler.add(qps[2]);
    EXPECT_EQ(scheduler.take(), &qps[0]);
    scheduler.add_first(qps[0]);
    scheduler.remove(qps[0]);
    scheduler.remove(qps[2]);
    EXPECT_EQ(scheduler.take(), &qps[1]);
    EXPECT_EQ(scheduler.take(), nullptr);
    scheduler.add(qps[0]);
    EXPECT_EQ(scheduler.take(), &qps[0]);
}

/// Returns the cost of each of the QPs while all are always ready.
std::vector<std::int64_t> shares(Scheduler& scheduler, std::span<QueuePair> qps, unsigned turns,
                                 const std::function<std::int64_t(const QueuePair&)>& cost_of) {
    std::vector<std::int64_t> spent(qps.size());
    for (QueuePair& qp : qps)
        scheduler.add(qp);
    for (unsigned turn = 0; turn < turns; ++turn) {
        QueuePair* const qp = scheduler.take();
        const std::int64_t cost = cost_of(*qp);
        spent[static_cast<std::size_t>(qp - qps.data())] += cost;
        scheduler.add(*qp);
        scheduler.charge(*qp, cost);
    }
    return spent;
}

double ratio(std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
}

constexpr std::int64_t kTurn = 16 * cost::of_frame(4160);

// A client with one QP next to one with 64 gets half of the card.
TEST_F(SchedulerTest, AContextWithOneQpHasAsMuchAsOneWithMany) {
    for (std::size_t i = 0; i < kRing; ++i)
        qps[i].share = 1;
    qps[kRing].share = 7;
    const auto spent = shares(scheduler, std::span(qps).first(kRing + 1), 10'000,
                              [](const QueuePair&) { return kTurn; });
    const auto many = std::accumulate(spent.begin(), spent.end() - 1, std::int64_t{0});
    EXPECT_NEAR(ratio(spent.back(), many), 1.0, 0.01);
    const auto [least, most] = std::minmax_element(spent.begin(), spent.end() - 1);
    EXPECT_LE(*most - *least, kTurn) << "and its QPs share what it has";
}

TEST_F(SchedulerTest, ShareIsOfCostNotOfTurns) {
    qps[1].share = 1;
    const auto spent = shares(scheduler, std::span(qps).first(2), 10'000, [](const QueuePair& qp) {
        return qp.share == 1 ? 2 * cost::of_frame(32'900) : cost::kStep;
    });
    EXPECT_NEAR(ratio(spent[1], spent[0]), 1.0, 0.01);
}

TEST_F(SchedulerTest, WorkOutsideOfTurnsIsOfTheShareToo) {
    qps[1].share = 1;
    const auto spent = shares(scheduler, std::span(qps).first(2), 10'000, [&](const QueuePair& qp) {
        if (qp.share == 1)
            scheduler.spend(1, 3 * kTurn);
        return kTurn;
    });
    EXPECT_NEAR(ratio(spent[1], spent[0]), 0.25, 0.01);
}

// A context that receives as much as it sends gets half of its share for sending.
TEST_F(SchedulerTest, WhatIsReceivedIsOfTheShare) {
    qps[1].share = 1;
    const auto spent = shares(scheduler, std::span(qps).first(2), 10'000, [&](const QueuePair& qp) {
        if (qp.share == 1)
            scheduler.spend_received(1, kTurn);
        return kTurn;
    });
    EXPECT_NEAR(ratio(spent[1], spent[0]), 0.5, 0.01);
}

TEST_F(SchedulerTest, WhoIsFloodedKeepsAQuarterAndOwesNoMoreThanFourVisits) {
    qps[1].share = 1;
    const auto flooded =
        shares(scheduler, std::span(qps).first(2), 10'000, [&](const QueuePair& qp) {
            if (qp.share == 0)
                scheduler.spend_received(1, 100 * kQuantum);
            return kTurn;
        });
    EXPECT_NEAR(ratio(flooded[1], flooded[0]), 0.25, 0.01);
    const auto after =
        shares(scheduler, std::span(qps).first(2), 1'000, [](const QueuePair&) { return kTurn; });
    EXPECT_GT(after[1], after[0] - 6 * kQuantum);
}

TEST_F(SchedulerTest, WhoWasAloneOwesNothingToWhoComesLater) {
    qps[1].share = 1;
    scheduler.add(qps[0]);
    for (int turn = 0; turn < 1000; ++turn) {
        ASSERT_EQ(scheduler.take(), &qps[0]);
        scheduler.add(qps[0]);
        scheduler.charge(qps[0], kTurn);
    }
    const auto sent =
        shares(scheduler, std::span(qps).first(2), 100, [](const QueuePair&) { return kTurn; });
    EXPECT_NEAR(static_cast<double>(sent[0]), static_cast<double>(sent[1]), 2 * kTurn);
}

TEST_F(SchedulerTest, WhoPausesSavesNothingUp) {
    qps[1].share = 1;
    scheduler.add(qps[1]);
    ASSERT_EQ(scheduler.take(), &qps[1]);
    scheduler.charge(qps[1], 0);
    EXPECT_TRUE(scheduler.empty()) << "a context without a ready QP is no work";
    shares(scheduler, std::span(qps).first(1), 1000, [](const QueuePair&) { return kTurn; });
    scheduler.add(qps[1]);
    unsigned in_a_row = 0;
    for (int turn = 0; turn < 10; ++turn) {
        QueuePair* const qp = scheduler.take();
        in_a_row = qp == &qps[1] ? in_a_row + 1 : 0;
        EXPECT_LE(in_a_row, 2U);
        scheduler.add(*qp);
        scheduler.charge(*qp, kTurn);
    }
}

TEST_F(SchedulerTest, AVisitIsOverWithTheLastOfItsQuantum) {
    qps[1].share = 1;
    scheduler.add(qps[0]);
    scheduler.add(qps[1]);
    for (const std::int64_t cost : {kQuantum - 1, std::int64_t{1}}) {
        ASSERT_EQ(scheduler.take(), &qps[0]);
        scheduler.add(qps[0]);
        scheduler.charge(qps[0], cost);
    }
    EXPECT_EQ(scheduler.take(), &qps[1]);
}

TEST_F(SchedulerTest, NothingIsSavedUp) {
    qps[1].share = 1;
    const auto use_quantum = [this](QueuePair& qp) {
        ASSERT_EQ(scheduler.take(), &qp);
        scheduler.add(qp);
        scheduler.charge(qp, kQuantum);
    };
    scheduler.add(qps[0]);
    scheduler.add(qps[1]);
    use_quantum(qps[0]);
    ASSERT_EQ(scheduler.take(), &qps[1]);
    scheduler.charge(qps[1], 100);  // the rest is lost
    scheduler.add(qps[1]);
    use_quantum(qps[0]);
    use_quantum(qps[1]);
    use_quantum(qps[0]);
}

// A client that sends a little next to busy ones waits for one turn, not for two.
TEST_F(SchedulerTest, WhoComesWaitsForOneTurnOfEachOther) {
    for (std::size_t i = 0; i < 4; ++i)
        qps[i].share = static_cast<std::uint32_t>(i);
    shares(scheduler, std::span(qps).first(3), 300, [](const QueuePair&) { return kQuantum; });
    for (int n = 0; n < 20; ++n) {
        scheduler.add(qps[3]);
        unsigned waited = 0;
        for (QueuePair* qp = scheduler.take(); qp != &qps[3]; qp = scheduler.take(), ++waited) {
            scheduler.add(*qp);
            scheduler.charge(*qp, kQuantum);
        }
        scheduler.charge(qps[3], 64);
        EXPECT_LE(waited, 4U) << "three others, and one turn that was not over";
    }
}

}  // namespace
}  // namespace dingo::model
