// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_requester: loss and retries, NAKs, local errors, flushing.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

TEST_F(Requester, ASequenceNakRepeatsFromThere) {
    start();
    send(1000);
    send(20);
    go();
    ASSERT_EQ(b.packets.size(), 5U);
    b.ack(kQp, psn(1), 0x60);
    b.settle();
    ASSERT_EQ(b.packets.size(), 9U);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(b.packets[5 + i].psn, psn(1 + i));
        EXPECT_EQ(b.packets[5 + i].payload, b.packets[1 + i].payload);
        EXPECT_EQ(b.packets[5 + i].opcode, b.packets[1 + i].opcode);
    }
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 4U);
    EXPECT_EQ(b.counters[DINGO_QP_RETRANSMITS], 4U);
    EXPECT_EQ(b.card[DINGO_CARD_PACKET_SEQ_ERR], 1U);
    EXPECT_EQ(b.counters[DINGO_QP_SEQ_NAK_RCVD], 1U);
    b.ack(kQp, psn(4));
    b.settle();
    EXPECT_EQ(b.cqes.size(), 2U);
}

TEST_F(Requester, TimeoutsRepeatUntilTheRetriesAreUsedUpAndThenEverythingIsFlushed) {
    start();
    send(20);
    go();
    send(30, 0);
    go();
    for (unsigned i = 0; i < config.retry; ++i)
        b.next_deadline();
    EXPECT_EQ(b.packets.size(), 2U * (1 + config.retry));
    EXPECT_TRUE(b.cqes.empty());
    b.next_deadline();
    EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 1U + config.retry);
    EXPECT_EQ(b.card[DINGO_CARD_REQ_TRANSPORT_RETRIES_EXCEEDED], 1U);
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_RETRY_EXC_ERR, DINGO_VERR_TIMEOUT);
    expect_cqe(1, 1, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
    EXPECT_EQ(b.fails, std::vector<std::uint16_t>{kQp});
    EXPECT_TRUE(b.events.empty());
    EXPECT_EQ(b.card[DINGO_CARD_REQ_CQE_ERROR], 1U);
    EXPECT_EQ(b.card[DINGO_CARD_REQ_CQE_FLUSH_ERROR], 1U);
    send(1);
    go();
    ASSERT_EQ(b.cqes.size(), 3U);  // a WQE that is posted in ERR is flushed, too
    expect_cqe(2, 2, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_F(Requester, ADeadlineThatPassesDuringACommandWaitsForItsEnd) {
    config.retry = 0;
    start();
    send(20);
    go();
    b.halt();
    ASSERT_TRUE(b.dut.timer_valid_o);
    b.now = b.dut.timer_next_o + 1;
    b.run(2000);
    EXPECT_TRUE(b.dut.idle_o) << "the card stays at rest";
    EXPECT_TRUE(b.dut.due_o) << "but time does not pass unseen";
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_TRUE(b.fails.empty());
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_RTS);
    b.dut.halt_tx_i = 0;
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_RETRY_EXC_ERR, DINGO_VERR_TIMEOUT);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
}

TEST_F(Requester, TheTimerRunsFromTheLastProgress) {
    config.timeout = 1;  // 8.192 us
    start();
    send(600);
    go();
    const std::uint64_t first = b.dut.timer_next_o;
    b.now += 4000;
    b.ack(kQp, psn(0));
    b.settle();
    EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 0U);
    b.now = first;
    b.run(200);
    b.settle();
    EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 0U);
    EXPECT_GT(b.dut.timer_next_o, first);
    b.next_deadline();
    EXPECT_EQ(b.counters[DINGO_QP_TIMEOUTS], 1U);
}

TEST_F(Requester, AnRnrNakWaitsForItsTime) {
    start();
    send(20);
    go();
    for (unsigned i = 0; i < config.rnr; ++i) {
        b.ack(kQp, psn(0), 0x20 | 1);  // 10 us
        b.settle();
        EXPECT_EQ(b.packets.size(), 1U + i);
        EXPECT_NEAR(static_cast<double>(b.dut.timer_next_o - b.now), 10'000, 3000);
        b.next_deadline();
        EXPECT_EQ(b.packets.size(), 2U + i);
    }
    b.ack(kQp, psn(0), 0x20 | 1);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_RNR_RETRY_EXC_ERR, DINGO_VERR_RNR);
    EXPECT_EQ(b.card[DINGO_CARD_RNR_NAK_RETRY_ERR], 1U + config.rnr);
    EXPECT_EQ(b.card[DINGO_CARD_REQ_RNR_RETRIES_EXCEEDED], 1U);
}

struct FatalNak {
    std::uint8_t syndrome, status, verr;
};

TEST_F(Requester, AFatalNakCompletesWhatIsBeforeAndFailsItsWqe) {
    const std::array<FatalNak, 4> naks{{{0x61, DINGO_WCS_REM_INV_REQ_ERR, DINGO_VERR_NAK_INVALID},
                                        {0x62, DINGO_WCS_REM_ACCESS_ERR, DINGO_VERR_NAK_ACCESS},
                                        {0x63, DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP},
                                        {0x64, DINGO_WCS_BAD_RESP_ERR, DINGO_VERR_BAD_RESPONSE}}};
    for (const FatalNak& nak : naks) {
        b.cqes.clear();
        start();
        send(20);
        send(600);
        send(20);
        go();
        b.ack(kQp, psn(2), nak.syndrome);
        b.settle();
        ASSERT_EQ(b.cqes.size(), 3U);
        expect_cqe(0, 0, DINGO_WR_SEND);
        expect_cqe(1, 1, DINGO_WR_SEND, nak.status, nak.verr);
        expect_cqe(2, 2, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    }
}

TEST_F(Requester, ABadKeyStopsTheQueueAndCompletesInItsPlace) {
    start();
    send(20);
    b.begin(DINGO_WR_SEND);
    b.sges({sge(0, 5), sge(0, 5, 0x31337)});
    b.post(kQp);
    send(20);
    go();
    EXPECT_EQ(b.packets.size(), 1U);
    EXPECT_TRUE(b.cqes.empty());
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_RTS);
    b.ack(kQp, psn(0));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    expect_cqe(1, 1, DINGO_WR_SEND, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    expect_cqe(2, 2, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
}

TEST_F(Requester, ReadsNeedAWritableRegion) {
    start();
    b.begin(DINGO_WR_READ);
    b.sges({{0x9000'0000, 16, kReadOnlyKey}});
    b.post(kQp);
    go();
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY_ACCESS);
    EXPECT_TRUE(b.packets.empty());
}

TEST_F(Requester, ReadsWithoutAnyAllowedAreRefused) {
    config.max_rd = 0;
    start();
    read(0, 16);
    go();
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_RD_ATOMIC);
}

TEST_F(Requester, WithoutASourceAddressNothingIsSent) {
    start();
    b.dut.gid_valid_i = 0xFFFB;
    send(16);
    go();
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_GID);
    EXPECT_TRUE(b.packets.empty());
}

TEST_F(Requester, PayloadThatCannotBeReadFailsItsWqeWhenThoseBeforeAreDone) {
    start();
    send(20);
    send(600);
    send(20);
    go();
    ASSERT_EQ(b.packets.size(), 5U);
    b.reports.push_back({false, kQp, psn(2)});
    b.settle();
    EXPECT_TRUE(b.cqes.empty());
    send(20);
    go();
    EXPECT_EQ(b.packets.size(), 5U);
    b.ack(kQp, psn(1));
    b.settle();
    ASSERT_EQ(b.cqes.size(), 4U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    expect_cqe(1, 1, DINGO_WR_SEND, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    expect_cqe(2, 2, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_F(Requester, ReadDataThatCannotBeWrittenFailsTheRead) {
    start();
    read(0, 300);
    go();
    b.respond({kQp, 0x0D, psn(0), 0x1F, std::vector<std::uint8_t>(256), true});
    b.respond({kQp, 0x0F, psn(1), 0x1F, std::vector<std::uint8_t>(44)});
    b.settle();
    expect_cqe(0, 0, DINGO_WR_READ, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_QP_STATE], 1U);
}

TEST_F(Requester, AResponseThatDoesNotFitIsABadResponse) {
    struct Case {
        std::uint8_t opcode;
        std::uint32_t at;
        std::size_t length;
        std::uint8_t syndrome;
    };
    const std::array<Case, 7> cases{{{0x0F, 0, 256, 0x1F},   // LAST as first of two packets
                                     {0x0E, 0, 256, 0x1F},   // MIDDLE as first
                                     {0x0D, 0, 255, 0x1F},   // FIRST, not a full packet
                                     {0x10, 0, 256, 0x1F},   // ONLY as first
                                     {0x0D, 0, 256, 0x60},   // syndrome of a NAK
                                     {0x12, 0, 0, 0x1F},     // ATOMIC ACK to a READ
                                     {0x10, 2, 20, 0x1F}}};  // READ data to a SEND
    for (const Case& c : cases) {
        b.cqes.clear();
        start();
        if (c.at == 2) {
            send(300);
            send(20);
        } else {
            read(0, 300);
        }
        go();
        b.respond({kQp, c.opcode, psn(c.at), c.syndrome, std::vector<std::uint8_t>(c.length)});
        b.settle();
        const bool of_send = c.at == 2;
        ASSERT_EQ(b.cqes.size(), of_send ? 2U : 1U);
        EXPECT_EQ(b.cqes.back().status, DINGO_WCS_BAD_RESP_ERR);
        EXPECT_EQ(b.cqes.back().verr, DINGO_VERR_BAD_RESPONSE);
    }
}

TEST_F(Requester, ACqThatFailsTakesTheQpWithIt) {
    start();
    send(20);
    go();
    b.dut.cq_fail_valid_i = 1;
    b.dut.cq_fail_qp_i = kQp;
    b.settle();
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
    ASSERT_EQ(b.events.size(), 1U);
    EXPECT_EQ(b.events[0].kind, DINGO_EV_QP_FATAL);
    EXPECT_EQ(b.fails.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    b.dut.cq_fail_valid_i = 1;
    b.dut.cq_fail_qp_i = kQp;
    b.settle();
    EXPECT_EQ(b.events.size(), 1U);
}

TEST_F(Requester, WhenTheResponderFailsEverythingIsFlushedWithoutAnEvent) {
    start();
    send(20);
    go();
    b.qps[kQp].state = DINGO_QPS_ERR;
    b.dut.fail_valid_i = 1;
    b.dut.fail_qp_i = kQp;
    b.settle();
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_TRUE(b.events.empty());
    EXPECT_TRUE(b.fails.empty());
}

TEST_F(Requester, AFailedDatagramStopsOnlyTheSendQueueAndTheWayBackFlushes) {
    config.kind = DINGO_QPT_UD;
    start();
    dingo_wqe_ud av{};
    for (int i = 0; i < 3; ++i) {
        b.begin(DINGO_WR_SEND);
        b.put(16, av);
        b.sges({sge(0, 10, i == 1 ? 0x31337 : kKey)}, 64);
        b.post(kQp);
    }
    go();
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_SQE);
    EXPECT_TRUE(b.fails.empty());
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    expect_cqe(1, 2, DINGO_WR_SEND, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    expect_cqe(2, 4, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    b.halt();
    b.begin(DINGO_WR_SEND);
    b.put(16, av);
    b.sges({sge(0, 10)}, 64);
    b.post(kQp);
    b.ring(kQp);
    b.modify(kQp, DINGO_QPS_RTS);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 4U);
    EXPECT_EQ(b.cqes[3].status, DINGO_WCS_WR_FLUSH_ERR);
    b.post(kQp);
    go();
    ASSERT_EQ(b.cqes.size(), 5U);
    expect_cqe(4, 8, DINGO_WR_SEND);
    EXPECT_EQ(b.packets.back().psn, psn(1));
}

TEST_F(Requester, DatagramsAreNotLongerThanThePortAllows) {
    config.kind = DINGO_QPT_UD;
    b.dut.port_mtu_i = 1500;
    start();
    dingo_wqe_ud av{};
    for (const std::uint32_t length : {1024U, 1025U}) {
        b.begin(DINGO_WR_SEND);
        b.put(16, av);
        b.sges({sge(0, length)}, 64);
        b.post(kQp);
    }
    go();
    ASSERT_EQ(b.cqes.size(), 2U);
    EXPECT_EQ(b.packets[0].payload.size(), 1024U);
    expect_cqe(1, 2, DINGO_WR_SEND, DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG);
}

TEST_F(Requester, HostileWqesAreRefusedWithTheirReason) {
    struct Case {
        const char* what;
        std::uint8_t status, verr;
        std::function<void()> make;
        unsigned blocks;
    };
    constexpr std::uint8_t kOp = DINGO_WCS_LOC_QP_OP_ERR;
    const auto small = [&](std::uint8_t opcode) {
        b.begin(opcode);
        b.sges({sge(0, 4)});
    };
    const std::vector<Case> cases{
        {"opcode", kOp, DINGO_VERR_WQE_OPCODE, [&] { small(0x3F); }, 1},
        {"SEND_INV with an address", kOp, DINGO_VERR_WQE_RESERVED,
         [&] { small(DINGO_WR_SEND_INV), b.raw[16] = 1; }, 1},
        {"atomic without operands", kOp, DINGO_VERR_WQE_SIZE, [&] { small(DINGO_WR_CMP_SWAP); }, 1},
        {"atomic of 4 bytes", kOp, DINGO_VERR_WQE_SIZE,
         [&] { b.begin(DINGO_WR_FETCH_ADD), b.sges({sge(0, 4)}, 48); }, 1},
        {"atomic of two SGEs", kOp, DINGO_VERR_WQE_SIZE,
         [&] {
             b.begin(DINGO_WR_FETCH_ADD), b.sges({sge(0, 8), sge(8, 0)}, 48);
         },
         2},
        {"atomic without an SGE", kOp, DINGO_VERR_WQE_SIZE, [&] { b.begin(DINGO_WR_FETCH_ADD); },
         1},
        {"inline atomic", kOp, DINGO_VERR_WQE_SIZE,
         [&] { b.begin(DINGO_WR_FETCH_ADD, 8), b.raw[8] = 8; }, 1},
        {"LOCAL_INV with data", kOp, DINGO_VERR_WQE_SIZE, [&] { small(DINGO_WR_LOCAL_INV); }, 1},
        {"LOCAL_INV with an address", kOp, DINGO_VERR_WQE_RESERVED,
         [&] { b.begin(DINGO_WR_LOCAL_INV), b.raw[16] = 1; }, 1},
        {"BIND_MW with data", kOp, DINGO_VERR_WQE_SIZE, [&] { small(DINGO_WR_BIND_MW); }, 1},
        {"BIND_MW's rest", kOp, DINGO_VERR_WQE_RESERVED,
         [&] { b.begin(DINGO_WR_BIND_MW), b.raw[63] = 1; }, 1},
        {"REG_MR of a user", kOp, DINGO_VERR_WQE_OPCODE, [&] { small(DINGO_WR_REG_MR); }, 1},
        {"no block", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[2] = 0; }, 1},
        {"9 blocks", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[2] = 9; }, 1},
        {"beyond the producer", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[2] = 2; }, 1},
        {"flags", kOp, DINGO_VERR_WQE_RESERVED, [&] { small(0), b.raw[1] = 0x10; }, 1},
        {"reserved", kOp, DINGO_VERR_WQE_RESERVED, [&] { small(0), b.raw[10] = 1; }, 1},
        {"reserved word", kOp, DINGO_VERR_WQE_RESERVED, [&] { small(0), b.raw[15] = 1; }, 1},
        {"SEND with an address", kOp, DINGO_VERR_WQE_RESERVED, [&] { small(0), b.raw[16] = 1; }, 1},
        {"WRITE's rest", kOp, DINGO_VERR_WQE_RESERVED,
         [&] { small(DINGO_WR_WRITE), b.raw[28] = 1; }, 1},
        {"16 SGEs", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[3] = 16, b.raw[2] = 8; }, 8},
        {"SGEs beyond the blocks", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[3] = 3; }, 1},
        {"inline and SGE", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[1] |= 8; }, 1},
        {"inline length", kOp, DINGO_VERR_WQE_SIZE, [&] { small(0), b.raw[8] = 4; }, 1},
        {"inline beyond the blocks", kOp, DINGO_VERR_WQE_SIZE,
         [&] { b.begin(0, 8), b.raw[8] = 33; }, 1},
        {"inline READ", kOp, DINGO_VERR_WQE_SIZE, [&] { b.begin(DINGO_WR_READ, 8), b.raw[8] = 3; },
         1},
        {"inline too long", kOp, DINGO_VERR_WQE_SIZE,
         [&] { b.begin(0, 8), b.raw[2] = 8, b.raw[8] = 0xE1, b.raw[9] = 1; }, 8},
        {"NOP with data", kOp, DINGO_VERR_WQE_SIZE, [&] { small(DINGO_WR_NOP); }, 1},
        {"message", DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG,
         [&] {
             b.begin(0), b.sges({sge(0, 0x80000000), sge(0, 1)});
         },
         1},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.what);
        b.cqes.clear();
        start();
        c.make();
        const std::uint8_t opcode = b.raw[0];
        b.post(kQp, c.blocks);
        go();
        ASSERT_GE(b.cqes.size(), 1U);
        expect_cqe(0, 0, opcode, c.status, c.verr);
        EXPECT_TRUE(b.packets.empty());
    }
}

TEST_F(Requester, AWqeThatTheHostChangedWhileItWasSentIsNotSentAgain) {
    config.log_sq = 4;
    start();
    send(600);
    go();
    // replace the WQE in buffer and cache, as other QPs' WQEs would
    TestQp other = config;
    other.sq = other.ring = 0xC000;
    b.create(3, other);
    b.begin(DINGO_WR_NOP);
    b.post(3);
    b.ring(3);
    b.settle();
    b.begin(DINGO_WR_SEND);
    b.sges({sge(0, 601)});
    std::memcpy(b.memory.data() + config.ring, b.raw.data(), 64);
    b.cqes.clear();
    b.next_deadline();
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
}

TEST_F(Requester, ARingThatCannotBeReadFailsItsWqes) {
    config.sq = config.ring = RequesterBench::kBadPage;
    start();
    send(20);
    send(20);
    go();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, 0, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
    expect_cqe(1, 1, 0, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_F(Requester, ARingWhosePageListCannotBeReadFailsItsWqes) {
    config.levels = 1;
    config.sq = RequesterBench::kBadPage;
    start();
    send(20);
    go();
    expect_cqe(0, 0, 0, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
}

TEST_F(Requester, AModifyToErrorFlushes) {
    start();
    send(20);
    send(20);
    go();
    b.modify(kQp, DINGO_QPS_ERR);
    b.settle();
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    expect_cqe(1, 1, DINGO_WR_SEND, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_TRUE(b.fails.empty());
    EXPECT_FALSE(b.dut.timer_valid_o && b.dut.timer_next_o <= b.now);
}

}  // namespace
}  // namespace dingo::rtl
