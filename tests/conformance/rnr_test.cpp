// SPDX-License-Identifier: BSD-2-Clause
//
// Receiver not ready, end to end.
#include "conformance.h"
#include "dingo/packet/aeth.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Rnr);

TEST_P(Rnr, LatePostedReceiveIsFoundByARetry) {
    PairOptions options;
    options.connect.path.min_rnr_timer = 14;  // 1.28 ms
    Pair pair(engine(), options);
    pair.fill(0, 0, 5000, 1);
    pair.post(pair.send(0, 5000));
    pair.cards.run_for(4'000'000);
    EXPECT_TRUE(pair.idle(0));
    EXPECT_GE(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 3u);
    EXPECT_LE(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 5u);
    pair.post_recv(1, 0, 5000);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).byte_len, 5000u);
    EXPECT_TRUE(pair.same(0, 0, 5000));
}

TEST_P(Rnr, FiniteRetriesEndInAnError) {
    PairOptions options;
    options.connect.path.rnr_retry = 3;
    options.connect.path.min_rnr_timer = 1;
    Pair pair(engine(), options);
    pair.post(pair.send(0, 8));
    pair.post(pair.write(0, 0, 8));
    EXPECT_EQ(pair.wait().status, DINGO_WCS_RNR_RETRY_EXC_ERR);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
    EXPECT_EQ(pair.state(1), DINGO_QPS_RTS) << "the receiver has done nothing wrong";
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 4u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_REQ_RNR_RETRIES_EXCEEDED), 1u);
}

TEST_P(Rnr, InfiniteRetriesGoOnForAMinute) {
    PairOptions options;
    options.connect.path.rnr_retry = 7;
    options.connect.path.min_rnr_timer = 0;  // 655.36 ms
    Pair pair(engine(), options);
    pair.post(pair.send(0, 8));
    pair.cards.run_for(60'000'000'000);
    EXPECT_TRUE(pair.idle(0));
    EXPECT_EQ(pair.state(0), DINGO_QPS_RTS);
    EXPECT_GE(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 70u);
    pair.post_recv(1, 0, 8);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_P(Rnr, WritesBeforeTheSendCompleteFirst) {
    Pair pair(engine());
    pair.fill(0, 0, 3000, 1);
    pair.post(pair.write(0, 0, 3000));
    pair.post(pair.send(0, 8));
    EXPECT_EQ(test::cqe_opcode(pair.wait()), DINGO_WR_WRITE);
    EXPECT_TRUE(pair.same(0, 0, 3000));
    EXPECT_TRUE(pair.idle(0));
    pair.post_recv(1, 8000, 8);
    EXPECT_EQ(test::cqe_opcode(pair.wait()), DINGO_WR_SEND);
}

TEST_P(Rnr, WriteWithImmediateWaitsForAReceiveAndIsDoneOnce) {
    Pair pair(engine());
    pair.fill(0, 0, 3000, 1);
    test::SendWr wr = pair.rdma(DINGO_WR_WRITE_IMM, 0, 0, 3000);
    wr.imm = 6;
    pair.post(wr);
    pair.cards.run_for(3'000'000);
    EXPECT_TRUE(pair.idle(0));
    pair.post_recv(4, 0, 0);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).wqe_index, 4u);
    EXPECT_TRUE(pair.idle(1));
    EXPECT_TRUE(pair.same(0, 0, 3000));
}

TEST_P(Rnr, PauseOfARegionIsARetryNotAnError) {
    Pair pair(engine());
    NEEDS(pair.driver(1), PAUSE_MR);
    ASSERT_EQ(pair.driver(1).destroy(DINGO_OP_PAUSE_MR, pair.mr[1].key).status, DINGO_ST_OK);
    pair.fill(0, 0, 3000, 1);
    pair.post(pair.write(0, 0, 3000));
    pair.cards.run_for(5'000'000);
    EXPECT_TRUE(pair.idle(0));
    EXPECT_FALSE(pair.same(0, 0, 3000)) << "written through a paused region";
    // The region moves to other memory, as a DMA-BUF exporter would do.
    const std::uint64_t moved = pair.cards.host(1).alloc(pair.mr[1].length);
    pair.driver(1).move_mr(pair.mr[1], moved, kAllAccess);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(pair.bytes(0, 0, 3000), pair.cards.host(1).bytes(moved, 3000)));
}

}  // namespace dingo::conformance
