// SPDX-License-Identifier: BSD-2-Clause
//
// UC: like RC without answers; a message with a hole disappears, the next one arrives.
#include "fixture.h"

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
    cards.cable.tap = [](const Frame& frame) { EXPECT_EQ(frame.from, 0U); };
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
        cards.cable.hook = [&](Frame&) { return number++ != lost; };
        run(send_wr(0, 5000));
        cards.settle();
        EXPECT_FALSE(poll(1));
        cards.cable.hook = nullptr;
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

TEST_F(Unreliable, SurvivesABadCable) {
    start();
    Chance chance(7);
    cards.cable.hook = [&](Frame& frame) {
        if (chance(2))
            cards.cable.inject(frame, cards.now());
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

}  // namespace
}  // namespace dingo::test
