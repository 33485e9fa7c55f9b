// SPDX-License-Identifier: BSD-2-Clause
//
// Far memory that accepts nothing at the moment, or never.
#include "far_fixture.h"

namespace dingo::test {
namespace {

TEST_F(Far, ReadThatFoundNoRoomGoesOnWhenThereIsSome) {
    connect_far({0});  // no timeout, so no retransmission
    fill(1, 0, 100'000);
    far[0].full = true;
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 100'000));
    run_a_little();
    EXPECT_FALSE(poll(0));
    EXPECT_EQ(stat(0, DINGO_CARD_RETRANSMITS), 0U) << "there is none yet";
    far[0].make_room();
    far[0].pace = 1;
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 100'000));
    EXPECT_EQ(stat(0, DINGO_CARD_RETRANSMITS), 1U);
}

TEST_F(Far, AtomicWhoseResultFoundNoRoomGoesOnWhenThereIsSome) {
    connect_far({0});
    far[0].full = true;
    driver(0).post_send(qp(0), atomic(DINGO_WR_FETCH_ADD, 64, 5));
    run_a_little();
    EXPECT_FALSE(poll(0));
    finish(0);
    far[0].make_room();
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cards.host(1).load<std::uint64_t>(mr[1].bus + 64), 5U) << "once";
}

TEST_F(Far, BusErrorThatIsKnownAtOnceIsCounted) {
    connect_far({1});
    far[1].broken = true;
    expect_error(rdma(DINGO_WR_WRITE, 0, 0, 64), DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP);
    EXPECT_EQ(stat(1, DINGO_CARD_DMA_ERRORS), 1U);
    link = cards.connect();
    expect_error(atomic(DINGO_WR_FETCH_ADD, 64, 5), DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP);
    EXPECT_EQ(stat(1, DINGO_CARD_DMA_ERRORS), 2U);
}

}  // namespace
}  // namespace dingo::test
