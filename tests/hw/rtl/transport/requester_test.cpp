// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_requester: packets of WQEs, and completions by responses, without errors.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

TEST_F(Requester, SendsAMessageInPacketsAndCompletesItWhenItIsAcknowledged) {
    start();
    b.begin(DINGO_WR_SEND_IMM,
            DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK, 0x04030201);
    b.sges({sge(5, 300), sge(0, 0), sge(1000, 1), sge(2000, 299)});
    b.post(kQp);
    go();
    ASSERT_EQ(b.packets.size(), 3U);
    std::vector<std::uint8_t> sent;
    const std::array<std::uint8_t, 3> opcodes{0x00, 0x01, 0x03};
    for (unsigned i = 0; i < 3; ++i) {
        const TestPacket& p = b.packets[i];
        EXPECT_EQ(p.opcode, opcodes[i]);
        EXPECT_EQ(p.psn, psn(i));
        EXPECT_EQ(p.dqpn, config.dest);
        EXPECT_EQ(p.hop, 64);
        EXPECT_EQ(p.se, i == 2);
        EXPECT_EQ(p.ackreq, i == 2);
        sent.insert(sent.end(), p.payload.begin(), p.payload.end());
    }
    EXPECT_EQ(b.packets[2].imm, 0x04030201U);
    std::vector<std::uint8_t> expected = bytes(5, 300);
    for (const auto& part : {bytes(1000, 1), bytes(2000, 299)})
        expected.insert(expected.end(), part.begin(), part.end());
    EXPECT_EQ(sent, expected);
    EXPECT_TRUE(b.cqes.empty());
    b.ack(kQp, psn(1));
    b.settle();
    EXPECT_TRUE(b.cqes.empty());
    b.ack(kQp, psn(2));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND_IMM);
    EXPECT_EQ(b.counters[DINGO_QP_ACKS_RCVD], 2U);
    EXPECT_EQ(b.counters[DINGO_QP_SEND_CQES], 1U);
    b.ack(kQp, psn(2));
    b.settle();
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_RESPONSE], 1U);
}

TEST_F(Requester, InlineDataOfAnyLengthLeavesAsItIs) {
    start();
    for (const std::uint32_t length :
         {0U, 1U, 31U, 32U, 33U, 64U, 96U, 97U, 255U, 256U, 257U, 480U}) {
        b.packets.clear();
        b.begin(DINGO_WR_WRITE, 0);
        b.rdma(0x1234567890, 0x77);
        b.inline_data(bytes(length, length));
        b.post(kQp);
        go();
        std::vector<std::uint8_t> sent;
        ASSERT_EQ(b.packets.size(), length > 256 ? 2U : 1U);
        for (const TestPacket& p : b.packets)
            sent.insert(sent.end(), p.payload.begin(), p.payload.end());
        EXPECT_EQ(sent, bytes(length, length));
        EXPECT_EQ(b.packets[0].opcode, length > 256 ? 0x06 : 0x0A);
        EXPECT_EQ(b.packets[0].va, 0x1234567890U);
        EXPECT_EQ(b.packets[0].rkey, 0x77U);
        EXPECT_EQ(b.packets[0].dma_len, length);
        b.ack(kQp, b.packets.back().psn);
        b.settle();
    }
    EXPECT_TRUE(b.cqes.empty());  // unsignaled
}

TEST_F(Requester, ReadDataGoesToMemoryAndCompletesInOrder) {
    start();
    read(100, 600);
    send(10);
    go();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[0].opcode, 0x0C);
    EXPECT_EQ(b.packets[0].dma_len, 600U);
    EXPECT_EQ(b.packets[1].psn, psn(3));
    std::vector<std::uint8_t> data(600);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i * 7);
    b.respond({kQp, 0x0D, psn(0), 0x1F, {data.begin(), data.begin() + 256}});
    b.respond({kQp, 0x0E, psn(1), 0, {data.begin() + 256, data.begin() + 512}});
    b.respond({kQp, 0x0F, psn(2), 0x1F, {data.begin() + 512, data.end()}});
    b.settle();
    EXPECT_EQ(bytes(100, 600), data);
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 600);
    b.ack(kQp, psn(3));
    b.settle();
    expect_cqe(1, 1, DINGO_WR_SEND);
}

TEST_F(Requester, ALostReadResponseIsAskedForOnceAndOnlyItsTailIsRepeated) {
    start();
    read(0, 700);
    go();
    const std::vector<std::uint8_t> full(256, 0x5A);
    b.respond({kQp, 0x0D, psn(0), 0x1F, full});
    b.respond({kQp, 0x0F, psn(2), 0x1F, std::vector<std::uint8_t>(188, 1)});
    b.respond({kQp, 0x0F, psn(2), 0x1F, std::vector<std::uint8_t>(188, 1)});
    b.settle();
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 1U);
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_EQ(b.packets[1].psn, psn(1));
    EXPECT_EQ(b.packets[1].va, 0xABC000U + 256);
    EXPECT_EQ(b.packets[1].dma_len, 444U);
    b.respond({kQp, 0x0D, psn(1), 0x1F, full});
    b.respond({kQp, 0x0F, psn(2), 0x1F, std::vector<std::uint8_t>(188, 2)});
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_READ, 0, 0, 700);
    EXPECT_EQ(bytes(512, 188), std::vector<std::uint8_t>(188, 2));
}

TEST_F(Requester, ReadsAreLimitedAndAFenceWaitsForThem) {
    config.max_rd = 2;
    start();
    read(0, 8);
    read(8, 8);
    read(16, 8);
    send(4, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK);
    go();
    EXPECT_EQ(b.packets.size(), 2U);
    const std::vector<std::uint8_t> eight(8, 3);
    b.respond({kQp, 0x10, psn(0), 0x1F, eight});
    b.settle();
    EXPECT_EQ(b.packets.size(), 3U);
    b.respond({kQp, 0x10, psn(1), 0x1F, eight});
    b.settle();
    EXPECT_EQ(b.packets.size(), 3U);
    b.respond({kQp, 0x10, psn(2), 0x1F, eight});
    b.settle();
    EXPECT_EQ(b.packets.size(), 4U);
    EXPECT_EQ(b.cqes.size(), 3U);
}

TEST_F(Requester, TheWindowClosesAfter256PacketsWithARequestForAnAcknowledgementEach64) {
    start();
    send(300 * 256);
    go();
    ASSERT_EQ(b.packets.size(), 256U);
    for (unsigned i = 0; i < 256; ++i)
        EXPECT_EQ(b.packets[i].ackreq, i % 64 == 63) << i;
    b.ack(kQp, psn(63));
    b.settle();
    EXPECT_EQ(b.packets.size(), 300U);
    b.ack(kQp, psn(299));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND);
}

TEST_F(Requester, NopCompletesInItsPlace) {
    start();
    send(4);
    b.begin(DINGO_WR_NOP);
    b.post(kQp);
    go();
    EXPECT_TRUE(b.cqes.empty());
    b.ack(kQp, psn(0));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(1, 1, DINGO_WR_NOP);
}

TEST_F(Requester, TheRingGoesRoundAndWqesMayWrap) {
    config.log_sq = 3;
    start();
    for (unsigned i = 0; i < 20; ++i) {
        b.begin(DINGO_WR_SEND);
        b.sges({sge(i, 1), sge(100 + i, 2), sge(200 + i, 3)});  // two blocks
        if (i % 3 == 0)
            b.inline_data(bytes(0, 150)), b.raw[3] = 0;
        const std::uint32_t index = b.post(kQp);
        go();
        b.ack(kQp, b.packets.back().psn);
        b.settle();
        ASSERT_EQ(b.cqes.size(), i + 1);
        EXPECT_EQ(b.cqes.back().index, index);
        EXPECT_EQ(b.packets.back().payload.size(), i % 3 == 0 ? 150U : 6U);
    }
}

TEST_F(Requester, ARingByPageListIsReadThroughIt) {
    config.levels = 1;
    config.sq = 0x8000;  // page list
    config.ring = 0x5000;
    const std::uint64_t page = 0x5000;
    std::memcpy(b.memory.data() + 0x8000, &page, 8);
    start();
    send(33);
    go();
    ASSERT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.packets[0].payload, bytes(0, 33));
}

TEST_F(Requester, ADoorbellThatTheRingCannotHaveIsRefused) {
    start();
    b.doorbells.push_back({kQp, 17});
    b.settle();
    EXPECT_EQ(b.bad_doorbells, 1U);
    for (int i = 0; i < 4; ++i)
        send(1);
    go();
    b.doorbells.push_back({kQp, 3});  // less than the current index, 4
    b.settle();
    EXPECT_EQ(b.bad_doorbells, 2U);
    EXPECT_EQ(b.packets.size(), 4U);
    b.query(kQp);
    EXPECT_EQ(b.dut.info_producer_o, 4U);
    EXPECT_EQ(b.dut.info_consumer_o, 0U);
    EXPECT_EQ(b.dut.info_psn_o, psn(4));
    EXPECT_EQ(b.dut.info_oldest_o, psn(0));
    EXPECT_EQ(b.dut.info_retries_o, config.retry);
}

TEST_F(Requester, DrainingFinishesWhatHasBegunAndSaysSo) {
    config.notify = true;
    start();
    send(20);
    go();
    b.modify(kQp, DINGO_QPS_SQD);
    send(20);
    go();
    EXPECT_EQ(b.packets.size(), 1U);
    EXPECT_TRUE(b.events.empty());
    b.query(kQp);
    EXPECT_TRUE(b.dut.info_draining_o);
    b.ack(kQp, psn(0));
    b.settle();
    ASSERT_EQ(b.events.size(), 1U);
    EXPECT_EQ(b.events[0].kind, DINGO_EV_SQ_DRAINED);
    EXPECT_EQ(b.events[0].id, 0x5A0000U | kQp);
    b.modify(kQp, DINGO_QPS_RTS);
    b.settle();
    EXPECT_EQ(b.packets.size(), 2U);
}

TEST_F(Requester, DatagramsCompleteWhenTheirPayloadHasBeenRead) {
    config.kind = DINGO_QPT_UD;
    b.tell = false;
    start();
    dingo_wqe_ud av{};
    av.dest_qpn = 0x777;
    av.qkey = 0x80000000;
    av.sgid_index = 3;
    for (int i = 0; i < 2; ++i) {
        b.begin(i == 0 ? DINGO_WR_SEND : DINGO_WR_SEND_IMM, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK,
                0x99);
        b.put(16, av);
        if (i == 0)
            b.sges({sge(50, 70), sge(500, 80)}, 64);
        else
            b.inline_data(bytes(0, 100), 64);
        b.post(kQp);
        av.qkey = 0x2222;
    }
    go();
    ASSERT_EQ(b.packets.size(), 2U);
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_EQ(b.packets[0].opcode, 0x64);
    EXPECT_EQ(b.packets[0].dqpn, 0x777U);
    EXPECT_EQ(b.packets[0].qkey, config.qkey);
    EXPECT_EQ(b.packets[0].src_qpn, 0x5A0000U | kQp);
    EXPECT_TRUE(b.packets[0].tell);
    EXPECT_EQ(b.packets[0].payload.size(), 150U);
    EXPECT_EQ(b.packets[1].opcode, 0x65);
    EXPECT_EQ(b.packets[1].qkey, 0x2222U);
    EXPECT_EQ(b.packets[1].imm, 0x99U);
    EXPECT_EQ(b.packets[1].payload, bytes(0, 100));
    b.reports.push_back({true, kQp, psn(0)});
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    b.reports.push_back({true, kQp, psn(1)});
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(1, 2, DINGO_WR_SEND_IMM);
}

TEST_F(Requester, NothingIsSentWhileSendingIsHeldUp) {
    start();
    b.dut.halt_tx_i = 1;
    send(4);
    b.ring(kQp);
    b.run(500);
    EXPECT_TRUE(b.dut.work_o);
    EXPECT_TRUE(b.dut.tx_idle_o);
    EXPECT_TRUE(b.dut.idle_o);
    EXPECT_TRUE(b.packets.empty());
    b.dut.halt_tx_i = 0;
    b.settle();
    EXPECT_EQ(b.packets.size(), 1U);
}

// Eight QPs are due, but sending is halted: their WQEs keep their places in dingo_wqe_cache. The
// response's fill must not wait for those places.
TEST_F(Requester, AResponseGetsItsWqeAlsoWhenQpsThatHaveTheirsCannotHaveTheirTurns) {
    start();
    read(0, 8);
    go();
    for (std::uint16_t qp = 10; qp < 18; ++qp) {
        TestQp other = config;
        other.sq = other.ring = 0x40000 + qp * 0x1000;
        b.create(qp, other);  // empties the cache
        b.begin(DINGO_WR_NOP);
        b.post(qp);
    }
    b.hold_lines = true;
    for (std::uint16_t qp = 10; qp < 18; ++qp)
        b.ring(qp);
    b.run(1000);
    b.dut.halt_tx_i = 1;
    b.hold_lines = false;
    b.run(1000);
    EXPECT_TRUE(b.cqes.empty());
    b.respond({kQp, 0x10, psn(0), 0x1F, std::vector<std::uint8_t>(8)});
    b.run(1000);
    EXPECT_EQ(b.cqes.size(), 1U);
    b.dut.halt_tx_i = 0;
    b.settle();
    EXPECT_EQ(b.cqes.size(), 9U);
}

TEST(RequesterTurns, QpsThatAlwaysWaitForTheirWqesLeaveTurnsToTheOthers) {
    RequesterBench b(1, 0);
    b.line_wait = 0;  // fills come faster than a turn ends: a QP is always due
    b.regions[kKey] = {0x7000'0000, 0x40000, 0x10000, 0};
    TestQp config;
    config.log_sq = 8;
    config.mtu = 5;
    for (std::uint16_t qp = 9; qp < 20; ++qp) {
        config.sq = config.ring = 0x30000 + (qp - 9) * 0x4000;
        b.create(qp, config);
    }
    // QP 9 needs one WQE for 30 packets; the others need a fill for each WQE.
    b.begin(DINGO_WR_SEND);
    b.sges({{0x7000'0000, 0x1E000, kKey}});
    b.post(9);
    b.ring(9);
    for (std::uint16_t qp = 10; qp < 20; ++qp) {
        for (int i = 0; i < 28; ++i) {
            b.begin(DINGO_WR_NOP);
            b.raw[2] = 8;
            b.post(qp);
        }
        b.ring(qp);
    }
    b.run_until([&] { return b.packets.size() == 30; });
    EXPECT_LT(b.cqes.size(), 140U);
    b.settle();
    EXPECT_EQ(b.cqes.size(), 280U);
    EXPECT_FALSE(b.stuck);
}

TEST_F(Requester, WhatIsPostedWhileAWqeIsFetchedIsFetchedBesideIt) {
    config.log_sq = 6;
    b.never_stall();  // a turn that stalls between two doorbells may ask once more
    start();
    b.hold_lines = true;
    for (unsigned i = 0; i < 4; ++i) {
        send(4, 0);
        b.ring(kQp);
        b.run(100);
    }
    EXPECT_EQ(b.fills, 4U);
    EXPECT_TRUE(b.packets.empty());
    b.hold_lines = false;
    b.settle();
    EXPECT_EQ(b.packets.size(), 4U);
    EXPECT_EQ(b.fills, 4U);
}

TEST_F(Requester, BlocksAreFetchedSeveralAtATimeAndAhead) {
    config.log_sq = 6;
    start();
    for (int i = 0; i < 48; ++i)
        send(4, 0);
    go();
    EXPECT_EQ(b.packets.size(), 48U);
    EXPECT_LE(b.fills, 8U);
}

}  // namespace
}  // namespace dingo::rtl
