// SPDX-License-Identifier: BSD-2-Clause
//
// What waits for far memory is bounded, whatever the owner of the memory and the peer do.
#include "far_fixture.h"

namespace dingo::test {
namespace {

// Reposts before completions arrive, as only a hostile client does.
TEST_F(Far, CompletionsThatWaitAreNoMoreThanTheSendQueueHolds) {
    connect_far({0});
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 64));
    run_a_little();
    const std::uint64_t entries = 1U << qp(0).log_sq;
    std::uint64_t posted = 0;
    for (; posted < 4 * entries && stat(1, DINGO_CARD_RX_WRITE_REQUESTS) == posted; ++posted) {
        driver(0).post_send(qp(0), small_write());
        cards.run_for(1'000'000);
    }
    EXPECT_LT(posted, 2 * entries);
    EXPECT_GE(posted, entries) << "it is a queue's length all the same";
    EXPECT_FALSE(poll(0));
    finish(0);
    for (std::uint64_t i = 0; i <= posted; ++i)
        ASSERT_EQ(wait(0).status, DINGO_WCS_SUCCESS) << i;
}

TEST_F(Far, FlushedCompletionsThatWaitAreNoMoreThanTheQueuesHold) {
    connect_far({0, 1});
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 64));
    run_a_little();
    far[1].make();  // the data of the READ
    run_a_little();
    SendWr back;
    back.opcode = DINGO_WR_WRITE;
    back.raddr = mr[0].iova;
    back.rkey = mr[0].key;
    back.sges = {near[1].sge(0, 64)};
    driver(1).post_send(qp(1), back);
    run_a_little();
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    const std::uint32_t entries = 1U << qp(0).log_sq;
    const auto posts = [&](auto post, auto taken) {
        std::uint32_t posted = 0;
        const std::uint32_t before = taken();
        for (; posted < 4 * entries && taken() - before == posted; ++posted) {
            post();
            cards.run_for(1'000'000);
        }
        return posted;
    };
    const std::uint32_t sends = posts([&] { driver(0).post_send(qp(0), small_write()); },
                                      [&] { return driver(0).query_qp(qp(0).qpn).sq_consumer; });
    const std::uint32_t receives = posts([&] { driver(0).post_recv(qp(0), 1, {}); },
                                         [&] { return driver(0).query_qp(qp(0).qpn).rq_consumer; });
    EXPECT_LT(sends, 2 * entries);
    EXPECT_LT(receives, 2 * entries);
    finish(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS) << "the READ";
    for (std::uint32_t i = 0; i < sends + receives; ++i)
        ASSERT_EQ(wait(0).status, DINGO_WCS_WR_FLUSH_ERR) << i;
}

TEST_F(Far, ReceivesThatWaitAreNoMoreThanTheirQueueHolds) {
    connect_far({1}, 0, 9);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
    run_a_little();
    const std::uint64_t entries = 1U << qp(1).log_rq;
    SendWr empty;
    empty.flags = 0;
    std::uint64_t posted = 0;
    for (; posted < 4 * entries && stat(1, DINGO_CARD_RX_SEND_REQUESTS) == posted; ++posted) {
        driver(1).post_recv(qp(1), 1, {});
        driver(0).post_send(qp(0), empty);
        cards.run_for(1'000'000);
    }
    EXPECT_LT(posted, 2 * entries);
    EXPECT_GE(posted, entries);
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    for (std::uint64_t i = 0; i < posted; ++i)
        ASSERT_EQ(wait(1).status, DINGO_WCS_SUCCESS) << i;
}

// After that event nothing may follow.
TEST_F(Far, LastWqeEventComesBehindTheCompletionsThatWait) {
    const Srq srqs[2] = {driver(0).create_srq(), driver(1).create_srq()};
    Srq srq = srqs[1];
    TwoCards::ConnectOptions options;
    options.path.timeout = 0;
    options.qp.srqn = srq.srqn;
    options.qp.log_rq = options.qp.log_stride = 0;
    region_is_far(1);
    connect(options);
    driver(1).post_recv(srq, 5, {mr[1].sge(0, 4'096)});
    driver(0).post_send(qp(0), send_wr(0, 100));
    run_a_little();
    driver(1).to_state(qp(1), DINGO_QPS_ERR);
    run_a_little();
    const auto came = [this] {
        bool last = false;
        while (const auto next = event(1))
            last = last || next->kind == DINGO_EV_QP_LAST_WQE;
        return last;
    };
    EXPECT_FALSE(came());
    finish(1);
    EXPECT_EQ(wait(1).status, DINGO_WCS_SUCCESS);
    run_a_little();
    EXPECT_TRUE(came());
}

// A peer with small packets cannot fill the card's memory with owed replies.
TEST_F(Far, RepliesThatWaitAreNotOneForEachPacket) {
    connect_far({1}, 0, 8);
    note_msns();
    constexpr unsigned kWrites = 200;
    for (unsigned i = 0; i < kWrites; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, i, 1));
    run_a_little();
    ASSERT_EQ(far[1].waiting(), kWrites);
    for (unsigned i = 0; i < kWrites; ++i) {
        far[1].make(1);
        cards.run_for(100'000'000);
    }
    EXPECT_LE(msns.size(), 128U);
    EXPECT_EQ(msns[10], 11U) << "the first ones have their own";
    for (unsigned i = 0; i < kWrites; ++i)
        ASSERT_EQ(wait(0).status, DINGO_WCS_SUCCESS) << i;
}

}  // namespace
}  // namespace dingo::test
