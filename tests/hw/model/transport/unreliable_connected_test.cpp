// SPDX-License-Identifier: BSD-2-Clause
//
// UC: like RC without responses; a message with a gap is dropped, the next one is received.
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

// A message in progress when SQD is requested is finished.
TEST_F(Unreliable, ALongMessageDrains) {
    start();
    driver(0).post_send(qp(0), send_wr(0, 300'000));
    driver(1).post_recv(qp(1), 0, {mr[1].sge(0, 300'000)});
    driver(0).to_state(qp(0), DINGO_QPS_SQD);
    cards.settle();
    EXPECT_EQ(driver(0).query_qp(qp(0).qpn).sq_draining, 0U);
}

// Without acknowledgements there is no limit of packets in flight.
TEST_F(Unreliable, AMessageHasAsManyPacketsAsItWants) {
    constexpr std::uint32_t kBytes = 1 << 20;
    start();
    fill(0, 0, kBytes);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, kBytes));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    cards.settle();
    EXPECT_TRUE(same(0, 0, kBytes));
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

TEST_F(UnreliableResponder, EdgesOfEveryPlaceInAMessage) {
    struct Case {
        std::string first, second;  // second: empty, or sent after `first`
        bool good;
    };
    const auto send = [](const char* place, std::uint32_t bytes) {
        return std::string("UC_SEND_") + place + " payload=" + std::to_string(bytes);
    };
    const auto write = [](const char* place, std::uint32_t bytes, std::uint64_t length = 0) {
        std::string text =
            std::string("UC_RDMA_WRITE_") + place + " payload=" + std::to_string(bytes);
        if (length != 0)
            text += " len=" + std::to_string(length);
        return text;
    };
    constexpr std::uint32_t m = kPmtu;
    const Case cases[] = {
        {send("ONLY", 0), "", true},
        {send("ONLY", m), "", true},
        {send("ONLY", m + 1), "", false},
        {send("FIRST", m - 1), "", false},
        {send("FIRST", m + 1), "", false},
        {send("FIRST", m), send("MIDDLE", m - 1), false},
        {send("FIRST", m), send("MIDDLE", m + 1), false},
        {send("FIRST", m), send("LAST", 0), false},
        {send("FIRST", m), send("LAST", 1), true},
        {send("FIRST", m), send("LAST", m), true},
        {send("FIRST", m), send("LAST", m + 1), false},
        {send("FIRST", m), write("LAST", m), false},
        {write("ONLY", m, m), "", true},
        {write("ONLY", m + 1, m + 1), "", false},
        {write("ONLY", 4, 8), "", false},
        {write("ONLY", 8, 4), "", false},
        {write("FIRST", m, m), "", false},
        {write("FIRST", m, m - 1), "", false},
        {write("FIRST", m - 1, 2 * m), "", false},
        {write("FIRST", m + 1, 2 * m), "", false},
        {write("FIRST", m, (1ULL << 31) + 1), "", false},
        {write("FIRST", m, 2 * m), write("MIDDLE", m), false},
        {write("FIRST", m, 3 * m), write("MIDDLE", m - 1), false},
        {write("FIRST", m, m + 4), write("LAST", 3), false},
        {write("FIRST", m, m + 4), write("LAST", 5), false},
        {write("FIRST", m, m + 4), write("LAST", 4), true},
        {write("FIRST", m, 2 * m), write("LAST", m), true},
        {write("FIRST", m, m + 4), send("LAST", 4), false},
    };
    start_card();
    // Its length field is exactly the longest message, and one byte more.
    const Mr big = card.driver.create_mr((1ULL << 31) + 4096, kAll);
    const std::string where =
        " va=" + std::to_string(big.iova) + " rkey=" + std::to_string(big.key);
    std::uint64_t dropped = 0;
    for (const Case& c : cases) {
        SCOPED_TRACE(c.first + " then " + c.second);
        make_qp(uc());
        post_recv(1);
        in(c.first + psn(0) + (c.first.find("WRITE") != c.first.npos ? where : ""));
        if (!c.second.empty())
            in(c.second + psn(1));
        dropped += !c.good;
        EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), dropped);
        EXPECT_EQ(card.driver.query_qp(qp.qpn).msn, c.good ? 1U : 0U);
        const bool received = c.good && c.first.find("SEND") != c.first.npos;
        EXPECT_EQ(poll().has_value(), received);
        if (received)
            post_recv(1);
        in(send("ONLY", 4) + psn(2));
        const auto cqe = poll();
        ASSERT_TRUE(cqe) << "the receive of a dropped message serves the next one";
        EXPECT_EQ(cqe->wqe_index, 1U);
        EXPECT_EQ(cqe->byte_len, 4U);
    }
}

TEST_F(UnreliableResponder, WhatAWriteMayNotTouchIsDroppedWithoutAnError) {
    start_card();
    const Mr small = card.driver.create_mr(4096, kAll);
    const Mr read_only = card.driver.create_mr(4096, DINGO_ACC_REMOTE_READ);
    const Mr other_pd = card.driver.create_mr(4096, kAll, 2);
    Options without_right = uc();
    without_right.path.access = DINGO_ACC_REMOTE_READ;
    struct Case {
        const char* what;
        std::uint64_t va;
        std::uint32_t key;
        Options options;
    };
    const Case cases[] = {
        {"unknown key", small.iova, small.key ^ 1, uc()},
        {"other PD", other_pd.iova, other_pd.key, uc()},
        {"read only", read_only.iova, read_only.key, uc()},
        {"before", small.iova - 1, small.key, uc()},
        {"behind", small.iova + 4093, small.key, uc()},
        {"no right of the QP", small.iova, small.key, without_right},
    };
    std::uint64_t dropped = 0;
    const auto at = [](std::uint64_t va, std::uint32_t key) {
        return " va=" + std::to_string(va) + " rkey=" + std::to_string(key) +
               " len=4 payload=hex:ffffffff";
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.what);
        make_qp(c.options);
        in("UC_RDMA_WRITE_ONLY" + psn(0) + at(c.va, c.key));
        EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), ++dropped);
        EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 0U);
        EXPECT_EQ(state(), DINGO_QPS_RTS);
    }
    for (unsigned i = 0; i < 4096; ++i)
        ASSERT_EQ(card.host.load<std::uint8_t>(small.bus + i), 0);
    make_qp(uc());
    in("UC_RDMA_WRITE_ONLY" + psn(0) + at(small.iova + 4092, small.key));
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 1U);
    EXPECT_EQ(card.host.load<std::uint32_t>(small.bus + 4092), ~0U);
}

// A region may be destroyed, or memory may fail, between two packets of a message.
TEST_F(UnreliableResponder, WhatGoesInTheMiddleOfAMessageEndsIt) {
    start_card();
    for (const bool broken : {false, true}) {
        SCOPED_TRACE(broken);
        const Mr gone = card.driver.create_mr(4096, kAll);
        make_qp(uc());
        in("UC_RDMA_WRITE_FIRST" + psn(0) + " va=" + std::to_string(gone.iova) +
           " rkey=" + std::to_string(gone.key) + " len=260 payload=256");
        if (broken)
            card.host.break_range(gone.bus, 4096);
        else
            card.driver.destroy(DINGO_OP_DESTROY_MR, gone.key);
        const std::uint64_t before = stat(DINGO_CARD_RX_DROP_UC);
        in("UC_RDMA_WRITE_LAST" + psn(1) + " payload=4");
        EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), before + 1);
        EXPECT_EQ(card.driver.query_qp(qp.qpn).msn, 0U);
        EXPECT_EQ(state(), DINGO_QPS_RTS);
    }
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
        make_qp(options);
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
