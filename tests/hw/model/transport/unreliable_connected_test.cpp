// SPDX-License-Identifier: BSD-2-Clause
//
// UC: like RC without answers; a message with a hole disappears, the next one arrives.
#include "fixture.h"
#include "peer.h"

namespace dingo::test {
namespace {

class Unreliable : public Connected {
  protected:
    void start() {
        TwoCards::ConnectOptions options;
        options.qp.kind = DINGO_QPT_UC;
        options.start_psn = {0xFFFFF8, 5};
        connect(options);
    }
};

TEST_F(Unreliable, MessagesOfAllKindsArrive) {
    start();
    for (const std::uint32_t size : {0U, 1U, 1024U, 1025U, 100'000U}) {
        fill(0, 0, size, size);
        run(rdma(DINGO_WR_WRITE, 0, 0, size));
        cards.settle();
        EXPECT_TRUE(same(0, 0, size));
        driver(1).post_recv(qp(1), size, {mr[1].sge(8, size + 1)});
        run(send_wr(0, size));
        EXPECT_EQ(wait(1).byte_len, size);
        EXPECT_TRUE(same(0, 8, size));
        driver(1).post_recv(qp(1), size, {});
        SendWr wr = rdma(DINGO_WR_WRITE_IMM, 0, 16, size);
        wr.imm = 5;
        run(wr);
        const dingo_cqe cqe = wait(1);
        EXPECT_EQ(cqe_opcode(cqe), DINGO_WC_RECV_WRITE_IMM);
        EXPECT_EQ(cqe.byte_len, size);
    }
}

TEST_F(Unreliable, NothingIsEverAnswered) {
    start();
    cards.link.tap = [](const Frame& frame) { EXPECT_EQ(frame.from, 0U); };
    run(rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    run(send_wr(0, 100));
    cards.settle();
    EXPECT_EQ(stat(1, DINGO_CARD_OUT_OF_BUFFER), 1U);
}

TEST_F(Unreliable, AMessageWithAHoleIsDroppedAndItsReceiveServesTheNext) {
    start();
    for (const unsigned lost : {0U, 1U, 4U}) {
        SCOPED_TRACE(lost);
        driver(1).post_recv(qp(1), lost, {mr[1].sge(0, 8192)});
        unsigned number = 0;
        cards.link.hook = [&](Frame&) { return number++ != lost; };
        run(send_wr(0, 5000));
        cards.settle();
        EXPECT_FALSE(poll(1));
        cards.link.hook = nullptr;
        fill(0, 0, 5000, lost);
        run(send_wr(0, 5000));
        EXPECT_EQ(wait(1).wqe_index, lost);
        EXPECT_TRUE(same(0, 0, 5000));
    }
    EXPECT_GE(stat(1, DINGO_CARD_RX_DROP_UC), 3U);
    EXPECT_EQ(state(1), DINGO_QPS_RTS);
}

TEST_F(Unreliable, BadKeyIsDroppedWithoutAnError) {
    start();
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 5000);
    wr.rkey ^= 1;
    run(wr);
    cards.settle();
    EXPECT_EQ(state(1), DINGO_QPS_RTS);
    EXPECT_GE(stat(1, DINGO_CARD_RX_DROP_UC), 1U);
    run(rdma(DINGO_WR_WRITE, 0, 0, 5000));
}

TEST_F(Unreliable, SurvivesABadWire) {
    start();
    Chance chance(7);
    cards.link.hook = [&](Frame& frame) {
        if (chance(2))
            cards.link.inject(frame, cards.now());
        if (chance(1))
            frame.delay += chance.next() % 10'000;
        return !chance(2);
    };
    unsigned arrived = 0;
    std::uint32_t next_tag = 0;
    for (; next_tag < 16; ++next_tag)
        driver(1).post_recv(qp(1), next_tag, {mr[1].sge(next_tag % 16 * 16'384, 16'384)});
    for (unsigned i = 0; i < 300; ++i) {
        fill(0, 0, 10'000, i);
        run(send_wr(0, 10'000));
        cards.settle();
        while (const auto cqe = poll(1)) {
            ASSERT_EQ(cqe->status, DINGO_WCS_SUCCESS);
            ASSERT_EQ(cqe->byte_len, 10'000U);
            ++arrived;
            driver(1).post_recv(qp(1), next_tag, {mr[1].sge(next_tag % 16 * 16'384, 16'384)});
            ++next_tag;
        }
    }
    EXPECT_GT(arrived, 150U);
    EXPECT_LT(arrived, 300U);
}

TEST_F(Unreliable, ReadsAreRefused) {
    start();
    expect_error(rdma(DINGO_WR_READ, 0, 0, 8), DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_OPCODE);
    EXPECT_EQ(state(0), DINGO_QPS_SQE);
}

class UnreliableResponder : public Peer {
  protected:
    static Options uc() {
        Options options = defaults();
        options.qp.kind = DINGO_QPT_UC;
        return options;
    }
};

TEST_F(UnreliableResponder, TheLongestMessageIsTaken) {
    start(uc());
    const Mr big = card.driver.create_mr(1ULL << 31, kAll);
    const std::string where =
        " va=" + std::to_string(big.iova) + " rkey=" + std::to_string(big.key);
    in("UC_RDMA_WRITE_FIRST" + psn(0) + where + " len=2147483648 payload=256");
    EXPECT_EQ(card.host.load<std::uint8_t>(big.bus + 255),
              std::to_integer<std::uint8_t>(packet::pattern_byte(255)));
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), 0U);
}

TEST_F(UnreliableResponder, ABadReceiveEndsTheQueuePairAndIsNoDroppedMessage) {
    start_card();
    const Options options = uc();
    for (const std::string& message :
         {std::string("UC_SEND_ONLY payload=10"),
          "UC_RDMA_WRITE_ONLY_IMM" + at_mr() + " len=10 imm=1 payload=10"}) {
        SCOPED_TRACE(message);
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        post_recv(1);
        post_recv(2);
        card.host.store<std::uint16_t>(qp.rq + offsetof(dingo_rq_wqe, rsvd0), 1);
        in(message + psn(0));
        EXPECT_EQ(state(), DINGO_QPS_ERR);
        const auto bad = poll();
        ASSERT_TRUE(bad);
        EXPECT_EQ(bad->wqe_index, 1U);
        EXPECT_EQ(bad->vendor_err, DINGO_VERR_WQE_SIZE);
        const auto flushed = poll();
        ASSERT_TRUE(flushed);
        EXPECT_EQ(flushed->wqe_index, 2U);
        EXPECT_FALSE(poll());
        EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), 0U);
        EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 0U);
    }
}

TEST_F(UnreliableResponder, AnSrqInBrokenMemoryIsReportedOnce) {
    Options options = uc();
    start_card();
    Srq srq = card.driver.create_srq();
    options.qp.srqn = srq.srqn;
    options.qp.log_rq = options.qp.log_stride = 0;
    for (std::uint32_t tag = 0; tag < 2; ++tag)
        card.driver.post_recv(srq, tag, {mr.sge(0, 100)});
    card.host.break_range(srq.ring, 4096);
    unsigned reported = 0;
    for (const std::uint8_t expected : {DINGO_QPS_ERR, DINGO_QPS_RTS}) {
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        in("UC_SEND_ONLY" + psn(0) + " payload=10");
        EXPECT_EQ(state(), expected) << "an SRQ in error has nothing for the next QP";
        while (const auto entry = event())
            reported += entry->kind == DINGO_EV_SRQ_ERR && entry->id == srq.srqn;
    }
    EXPECT_EQ(reported, 1U);
}

TEST_F(UnreliableResponder, MessagesThatEndedAreCounted) {
    start(uc());
    for (std::uint32_t n = 0; n < 2; ++n)
        in("UC_RDMA_WRITE_ONLY" + psn(n) + at_mr() + " len=4 payload=4");
    in("UC_RDMA_WRITE_FIRST" + psn(2) + at_mr() + " len=260 payload=256");
    EXPECT_EQ(card.driver.query_qp(qp.qpn).msn, 2U);
}

}  // namespace
}  // namespace dingo::test
