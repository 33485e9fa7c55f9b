// SPDX-License-Identifier: BSD-2-Clause
//
// Rings and doorbells: wrapping, arming, overflow, resizing, foreign pages, page lists.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Queues);

TEST_P(Queues, SmallRingsWrapManyTimes) {
    PairOptions options;
    options.connect.qp.log_sq = 3;
    options.connect.qp.log_rq = 2;
    options.connect.log_cq = 3;
    Pair pair(engine(), options);
    for (std::uint32_t i = 0; i < 300; ++i) {
        // Requests of 1 to 5 blocks, so that they wrap at every offset of the ring.
        test::SendWr wr = pair.send(0, 0);
        wr.sges.clear();
        wr.force_inline = true;
        wr.inline_data.resize(i * 37 % 280);
        random_bytes(wr.inline_data, i);
        pair.post_recv(i, 0, 512);
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        const dingo_cqe cqe = pair.wait(1);
        ASSERT_EQ(cqe.wqe_index, i);
        ASSERT_EQ(cqe.byte_len, wr.inline_data.size());
        ASSERT_TRUE(std::ranges::equal(wr.inline_data, pair.bytes(1, 0, wr.inline_data.size())));
    }
}

TEST_P(Queues, SmallestReceiveRingsOfEveryStrideWrap) {
    for (unsigned log_stride = 5; log_stride <= 8; ++log_stride) {
        for (unsigned log_rq = 0; log_rq <= 2; ++log_rq) {
            SCOPED_TRACE(testing::Message() << "log_stride " << log_stride << " log_rq " << log_rq);
            PairOptions options;
            options.connect.qp.log_rq = log_rq;
            options.connect.qp.log_stride = log_stride;
            Pair pair(engine(), options);
            for (std::uint32_t i = 0; i < 10; ++i) {
                random_bytes(pair.bytes(0, 0, 100), i);
                pair.post_recv(i, 0, 100);
                ASSERT_EQ(pair.complete(pair.send(0, 100)).status, DINGO_WCS_SUCCESS) << i;
                ASSERT_EQ(pair.wait(1).wqe_index, i);
                ASSERT_TRUE(std::ranges::equal(pair.bytes(0, 0, 100), pair.bytes(1, 0, 100)));
            }
        }
    }
}

TEST_P(Queues, FullSendQueueOfTheLargestRequests) {
    PairOptions options;
    options.connect.qp.log_sq = 6;
    Pair pair(engine(), options);
    test::SendWr wr = pair.write(0, 0, 0);
    wr.sges.assign(DINGO_SQ_MAX_SGE, pair.mr[0].sge(0, 16));
    const std::size_t blocks = test::encode(wr, false).size() / DINGO_SQ_BLOCK;
    const auto fit = static_cast<unsigned>(64 / blocks);
    for (unsigned i = 0; i < fit; ++i)
        pair.driver(0).post_send(pair.qp(0), wr, i + 1 == fit);
    for (unsigned i = 0; i < fit; ++i)
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
}

TEST_P(Queues, ArmedCqFiresOncePerArm) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    test::TestHost& host = pair.cards.host(0);
    pair.complete(pair.write(0, 0, 8));
    EXPECT_FALSE(driver.poll_eq(driver.comp_eq)) << "an event without arming";
    driver.arm_cq(pair.cq(0));
    host.take_msix(1);
    pair.complete(pair.write(0, 0, 8));
    pair.complete(pair.write(0, 0, 8));
    const auto event = driver.poll_eq(driver.comp_eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_COMPLETION);
    EXPECT_EQ(event->id, pair.cq(0).cqn);
    EXPECT_FALSE(driver.poll_eq(driver.comp_eq));
    EXPECT_EQ(host.take_msix(1), 1u);
}

TEST_P(Queues, ArmingACqWithAnUnseenEntryFiresAtOnce) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    pair.post(pair.write(0, 0, 8));
    pair.cards.settle();
    driver.arm_cq(pair.cq(0));  // the consumer index says that the entry was not seen
    pair.cards.settle();
    EXPECT_TRUE(driver.poll_eq(driver.comp_eq));
}

TEST_P(Queues, ArmingAfterAnEventDoesNotRepeatItForTheSameEntry) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    driver.arm_cq(pair.cq(0));
    pair.post(pair.write(0, 0, 8));
    pair.cards.settle();
    EXPECT_TRUE(driver.poll_eq(driver.comp_eq));
    driver.arm_cq(pair.cq(0));  // before polling, as perftest -e does
    pair.cards.settle();
    EXPECT_FALSE(driver.poll_eq(driver.comp_eq));
    pair.post(pair.write(0, 0, 8));
    pair.cards.settle();
    EXPECT_TRUE(driver.poll_eq(driver.comp_eq)) << "the next entry is news";
}

TEST_P(Queues, SolicitedArmWaitsForASolicitedOrFailedCompletion) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(1);
    for (unsigned i = 0; i < 4; ++i)
        pair.post_recv(i, 0, 64);
    driver.arm_cq(pair.cq(1), true);
    pair.complete(pair.send(0, 8));
    EXPECT_FALSE(driver.poll_eq(driver.comp_eq));
    test::SendWr solicited = pair.send(0, 8);
    solicited.flags |= DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK;
    pair.complete(solicited);
    EXPECT_TRUE(driver.poll_eq(driver.comp_eq));
    driver.ring_eq(driver.comp_eq);
    pair.wait(1);
    pair.wait(1);
    driver.arm_cq(pair.cq(1), true);
    driver.to_state(pair.qp(1), DINGO_QPS_ERR);
    pair.cards.settle();
    EXPECT_TRUE(driver.poll_eq(driver.comp_eq)) << "error completions count as solicited";
}

TEST_P(Queues, OverflowOfACqIsFatalForItsQpsOnly) {
    PairOptions options;
    options.connect.log_cq = 2;
    Pair pair(engine(), options);
    auto other = pair.cards.connect();
    for (unsigned i = 0; i < 6; ++i)
        pair.post(pair.write(0, 0, 8));
    pair.cards.settle();
    EXPECT_EQ(pair.event(0), DINGO_EV_CQ_ERR);
    EXPECT_EQ(pair.event(0), DINGO_EV_QP_FATAL);
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_CQ_OVERFLOW), 1u);
    pair.driver(0).post_send(other.qp[0], pair.write(0, 0, 64));
    EXPECT_EQ(pair.cards.wait_cq(0, other.cq[0]).status, DINGO_WCS_SUCCESS);
    // The four entries that fitted exist and were not overwritten.
    for (unsigned i = 0; i < 4; ++i) {
        const auto cqe = pair.driver(0).poll_cq(pair.cq(0));
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->wqe_index, i);
        EXPECT_EQ(cqe->status, DINGO_WCS_SUCCESS);
    }
}

TEST_P(Queues, LocalOperationsEndWithTheCqThatOverflows) {
    PairOptions options;
    options.connect.log_cq = 0;
    Pair pair(engine(), options);
    NEEDS(pair.driver(0), MW);
    for (unsigned i = 0; i < 2; ++i) {  // the second one does not fit
        const test::Mr window = pair.driver(0).create_key(DINGO_MRT_MW1);
        test::SendWr wr;
        wr.opcode = DINGO_WR_BIND_MW;
        wr.bind.addr = pair.mr[0].iova;
        wr.bind.length = 64;
        wr.bind.mr_key = pair.mr[0].key;
        wr.bind.mw_key = window.key;
        wr.bind.new_key = window.key + 1;
        wr.bind.access = DINGO_ACC_REMOTE_READ;
        pair.post(wr);
    }
    pair.cards.settle();
    EXPECT_EQ(pair.event(0), DINGO_EV_CQ_ERR);
    EXPECT_EQ(pair.event(0), DINGO_EV_QP_FATAL);
    EXPECT_EQ(pair.event(0), 0) << "one event";
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_CQ_OVERFLOW), 1u);
}

TEST_P(Queues, ResizeKeepsEntriesAndGoesOnInTheNewRing) {
    PairOptions options;
    options.connect.log_cq = 4;
    Pair pair(engine(), options);
    NEEDS(pair.driver(0), RESIZE_CQ);
    for (unsigned i = 0; i < 5; ++i)
        pair.post(pair.write(0, 0, 8));
    pair.cards.settle();
    dingo_cmd_create_cq cmd{};
    cmd.cqn = pair.cq(0).cqn;
    cmd.log_size = 7;
    cmd.ring.addr = pair.cards.host(0).alloc(32u << 7);
    const auto completion = pair.driver(0).execute_ok(DINGO_OP_RESIZE_CQ, cmd);
    EXPECT_EQ(completion.result[0], 5u);
    for (unsigned i = 0; i < 5; ++i) {
        const auto cqe = pair.driver(0).poll_cq(pair.cq(0));
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->wqe_index, i);
    }
    pair.cq(0).ring = cmd.ring.addr;
    pair.cq(0).log_size = 7;
    pair.cq(0).consumer = pair.cq(0).rung = 0;
    for (unsigned i = 0; i < 50; ++i)
        EXPECT_EQ(pair.complete(pair.write(0, 0, 8)).wqe_index, 5 + i);
}

TEST_P(Queues, DoorbellsFromForeignPagesAndForUnknownObjectsAreDropped) {
    Pair pair(engine());
    pair.driver(0).post_send(pair.qp(0), pair.write(0, 0, 8), false);
    const std::uint32_t sq = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SQ);
    const std::uint64_t before = pair.stat(0, DINGO_CARD_DB_DROPPED);
    pair.driver(0).doorbell(2, sq | pair.qp(0).qpn, 1);              // page of another context
    pair.driver(0).doorbell(1, sq | (pair.qp(0).qpn ^ 0x10000), 1);  // another tag
    pair.driver(0).doorbell(1, sq | 0xabcdef, 1);                    // no such QP
    pair.driver(0).doorbell(1, 0xf0000000 | pair.qp(0).qpn, 1);      // no such type
    pair.cards.settle();
    EXPECT_EQ(pair.stat(0, DINGO_CARD_DB_DROPPED), before + 4);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS), 0u);
    pair.driver(0).ring_sq(pair.qp(0));
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
}

TEST_P(Queues, ProducerBeyondTheRingIsNotFollowed) {
    Pair pair(engine());
    const std::uint32_t sq = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SQ);
    const std::uint32_t rq = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_RQ);
    const std::uint64_t dropped = pair.stat(0, DINGO_CARD_DB_DROPPED);
    pair.driver(0).doorbell(1, sq | pair.qp(0).qpn, 65);
    pair.driver(0).doorbell(1, rq | pair.qp(0).qpn, 65);
    pair.cards.settle();
    const dingo_qp_info info = pair.driver(0).query_qp(pair.qp(0).qpn);
    EXPECT_LE(info.sq_producer - info.sq_consumer, 64u);
    EXPECT_LE(info.rq_producer - info.rq_consumer, 64u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_DB_DROPPED), dropped + 2) << "one of each queue";
}

TEST_P(Queues, DoorbellsOfAQpInResetAreDropped) {
    Pair pair(engine());
    pair.driver(0).to_state(pair.qp(0), DINGO_QPS_RESET);
    const std::uint32_t sq = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SQ);
    const std::uint32_t rq = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_RQ);
    const std::uint64_t dropped = pair.stat(0, DINGO_CARD_DB_DROPPED);
    pair.driver(0).doorbell(1, sq | pair.qp(0).qpn, 1);
    pair.driver(0).doorbell(1, rq | pair.qp(0).qpn, 1);
    pair.cards.settle();
    const dingo_qp_info info = pair.driver(0).query_qp(pair.qp(0).qpn);
    EXPECT_EQ(info.sq_producer, 0u);
    EXPECT_EQ(info.rq_producer, 0u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_DB_DROPPED), dropped + 2) << "one of each queue";
}

TEST_P(Queues, EventsWaitForRoomInTheEq) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    test::Eq eq = driver.create_eq(5, 2, 2);
    std::vector<test::Cq> cqs;
    for (unsigned i = 0; i < 10; ++i)
        cqs.push_back(driver.create_cq(4, 5));
    // Ten CQs, each with one entry, armed: ten events for four places.
    for (test::Cq& cq : cqs) {
        test::QpOptions options;
        test::TestQp qp = driver.create_qp(cq, cq, options);
        driver.to_init(qp, {});
        driver.post_recv(qp, 1, {});
        driver.arm_cq(cq);
        driver.to_state(qp, DINGO_QPS_ERR);
    }
    pair.cards.settle();
    unsigned events = 0;
    for (unsigned tries = 0; tries < 10; ++tries) {
        while (driver.poll_eq(eq))
            ++events;
        driver.ring_eq(eq);
        pair.cards.settle();
    }
    EXPECT_EQ(events, 10u) << "events were lost";
    EXPECT_GT(pair.stat(0, DINGO_CARD_EQ_OVERFLOW), 0u);
}

TEST_P(Queues, RingsInScatteredPagesWork) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    for (unsigned levels : {1u, 2u}) {
        dingo_cmd_create_cq cmd{};
        cmd.cqn = 100 + levels;
        cmd.eqn = 1;
        cmd.db_page = 1;
        cmd.log_size = 9;  // four pages
        const auto pages = pair.cards.host(0).alloc_pages(4);
        cmd.ring = driver.page_list(pages, levels, 12);
        driver.execute_ok(DINGO_OP_CREATE_CQ, cmd);
        test::Cq cq;
        cq.cqn = cmd.cqn;
        test::TestQp qp = driver.create_qp(cq, cq, {});
        driver.to_init(qp, {});
        driver.to_state(qp, DINGO_QPS_ERR);
        for (std::uint32_t i = 0; i < 300; ++i)
            driver.post_recv(qp, 7000 + i, {}), pair.cards.settle();
        for (std::uint32_t i = 0; i < 300; ++i) {
            const auto cqe =
                pair.cards.host(0).load<dingo_cqe>(pages[i / 128] + i % 128 * sizeof(dingo_cqe));
            ASSERT_EQ(cqe.wqe_index, 7000 + i);
            ASSERT_EQ(cqe.owner & 1, 1);
        }
    }
}

TEST_P(Queues, TimeStampsDoNotGoBack) {
    Pair pair(engine());
    NEEDS(pair.driver(0), TIMESTAMP);
    std::uint64_t last = 0;
    for (unsigned i = 0; i < 20; ++i) {
        const dingo_cqe cqe = pair.complete(pair.write(0, 0, 8));
        const std::uint64_t stamp = std::uint64_t{cqe.ts_hi} << 32 | cqe.ts_lo;
        EXPECT_GE(stamp, last);
        EXPECT_LE(stamp, pair.cards.now());
        last = stamp;
    }
}

}  // namespace dingo::conformance
