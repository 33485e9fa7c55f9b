// SPDX-License-Identifier: BSD-2-Clause
//
// The queue of the QPs that are ready, on its own: places are kept while it grows and when QPs go.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "qp.h"
#include "transport/scheduler.h"
#include "transport/transport_state.h"

namespace dingo::model {
namespace {

class SchedulerTest : public testing::Test {
  protected:
    static constexpr std::size_t kRing = 64;  // the first ring holds as many

    SchedulerTest() {
        for (Qp& qp : qps)
            qp.transport = std::make_unique<TransportState>();
    }
    std::array<Qp, kRing + 2> qps;
    Scheduler scheduler;
};

TEST_F(SchedulerTest, OneInFrontOfAFullRingComesFirstAndNobodyIsLost) {
    scheduler.add(qps[kRing]);
    EXPECT_EQ(scheduler.take(), &qps[kRing]);  // so that the ring does not begin at its start
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
    for (std::size_t i = 0; i < kRing; ++i) {  // the ring begins anywhere
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

}  // namespace
}  // namespace dingo::model
