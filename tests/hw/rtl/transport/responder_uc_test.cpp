// SPDX-License-Identifier: BSD-2-Clause
//
// UC at the responder: nothing is answered, a message with a lost packet is dropped as a whole, and
// the next message gets its receive WQE.
#include "responder_packets.h"

namespace bench {
namespace {

constexpr unsigned kUc = 5;

class Uc : public ResponderTest {
  protected:
    Uc() { bench.create_uc(kUc); }
    std::uint32_t psn(unsigned n) { return bench.qp(kUc).cfg.rq_psn + n; }
    void post(std::uint32_t tag, std::uint64_t offset, std::uint32_t bytes,
              std::uint32_t key = kKey) {
        bench.post(kUc, tag, {{kIova + offset, key, bytes}});
        settle();
    }
    void send(std::uint8_t opcode, std::uint32_t at, const Bytes& payload) {
        bench.packet(kUc, request(opcode, at), payload);
    }
    void write(std::uint8_t opcode, std::uint32_t at, std::uint64_t va, std::uint32_t length,
               const Bytes& payload) {
        bench.packet(kUc, with_reth(opcode, at, va, length), payload);
    }
    void expect_dropped(unsigned messages) {
        EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), messages);
        EXPECT_EQ(bench.qp(kUc).state, DINGO_QPS_RTS);
    }
    void TearDown() override {
        EXPECT_TRUE(bench.sent.empty()) << "something was answered";
        ResponderTest::TearDown();
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Uc, kStalls);

TEST_P(Uc, MessagesArriveAndNothingIsAnswered) {
    post(7, 0, 1024);
    post(8, 2048, 1024);
    post(9, 4096, 1024);
    send(kUcSendFirst, psn(0), pattern(256, 1));
    send(kUcSendLast, psn(1), pattern(100, 2));
    send(kUcSendOnly, psn(2), pattern(9, 3));
    write(kUcWriteOnly, psn(3), kIova + 8192, 50, pattern(50, 4));
    write(kUcWriteOnlyImm, psn(4), kIova + 9000, 60, pattern(60, 5));
    settle();
    EXPECT_EQ(bench.read_memory(kBase, 256), pattern(256, 1));
    EXPECT_EQ(bench.read_memory(kBase + 256, 100), pattern(100, 2));
    EXPECT_EQ(bench.read_memory(kBase + 2048, 9), pattern(9, 3));
    EXPECT_EQ(bench.read_memory(kBase + 8192, 50), pattern(50, 4));
    EXPECT_EQ(bench.read_memory(kBase + 9000, 60), pattern(60, 5));
    ASSERT_EQ(bench.cqes.size(), 3u);
    EXPECT_EQ(bench.cqes[0].byte_len, 356u);
    EXPECT_EQ(bench.cqes[1].byte_len, 9u);
    EXPECT_EQ(bench.cqes[2].qpn_op >> 24, DINGO_WC_RECV_WRITE_IMM);
    EXPECT_EQ(bench.cqes[2].wqe_index, 9u);
    EXPECT_EQ(stat(DINGO_CARD_RX_SEND_REQUESTS), 2u);
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 2u);
    const auto info = bench.query(kUc);
    EXPECT_EQ(info.msn, 4u);
    EXPECT_EQ(info.rq_psn, psn(5));
    expect_dropped(0);
}

TEST_P(Uc, AMessageWithAHoleIsDroppedAndItsReceiveIsUsedAgain) {
    post(7, 0, 1024);
    send(kUcSendFirst, psn(0), pattern(256, 1));
    send(kUcSendLast, psn(2), pattern(100, 2));  // psn(1) is lost
    settle();
    EXPECT_TRUE(bench.cqes.empty());
    expect_dropped(1);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 1u);
    send(kUcSendFirst, psn(3), pattern(256, 3));
    send(kUcSendLast, psn(4), pattern(10, 4));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 7u);
    EXPECT_EQ(bench.cqes[0].byte_len, 266u);
    EXPECT_EQ(bench.read_memory(kBase, 256), pattern(256, 3));
    EXPECT_EQ(bench.read_memory(kBase + 256, 10), pattern(10, 4));
    EXPECT_EQ(bench.query(kUc).rq_consumer, 1u);
    expect_dropped(1);
}

TEST_P(Uc, ABeginningWithoutAnEndIsDroppedByTheNextBeginning) {
    post(7, 0, 1024);
    send(kUcSendFirst, psn(0), pattern(256, 1));
    write(kUcWriteOnly, psn(1), kIova + 8192, 50, pattern(50, 4));  // drops the SEND's message
    send(kUcSendOnly, psn(9), pattern(20, 2));  // a gap, but before a new message
    settle();
    expect_dropped(1);
    EXPECT_EQ(bench.read_memory(kBase + 8192, 50), pattern(50, 4));
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 7u);
    EXPECT_EQ(bench.cqes[0].byte_len, 20u);
    EXPECT_EQ(bench.read_memory(kBase, 20), pattern(20, 2));
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 1u);
    EXPECT_EQ(bench.query(kUc).rq_psn, psn(10));
}

TEST_P(Uc, WhatCannotBeTakenIsDroppedAndTheNextMessageIsFine) {
    send(kUcSendOnly, psn(0), pattern(20, 1));  // no receive
    settle();
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 1u);
    expect_dropped(1);
    write(kUcWriteOnlyImm, psn(1), kIova, 20, pattern(20, 1));
    settle();
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 2u);
    expect_dropped(2);
    post(7, 0, 16);
    send(kUcSendOnly, psn(2), pattern(20, 1));  // longer than the receive
    write(kUcWriteOnly, psn(3), kIova + (1 << 20), 20, pattern(20, 1));
    bench.packet(kUc, with_reth(kUcWriteOnly, psn(4), kIova, 20, 0x666), pattern(20, 1));
    write(kUcWriteOnly, psn(5), kIova, 30, pattern(20, 1));  // not the length of the RETH
    write(kUcWriteOnlyImm, psn(6), kIova + (1 << 20), 20, pattern(20, 1));
    send(kUcSendFirst, psn(7), pattern(20, 1));  // not a full packet
    send(kUcSendLast, psn(8), pattern(20, 1));   // without a FIRST
    settle();
    expect_dropped(9);
    EXPECT_TRUE(bench.cqes.empty());
    bench.qp(kUc).cfg.access = 0;
    write(kUcWriteOnly, psn(9), kIova, 20, pattern(20, 1));
    settle();
    expect_dropped(10);
    send(kUcSendOnly, psn(10), pattern(16, 9));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 7u);
    EXPECT_EQ(bench.read_memory(kBase, 16), pattern(16, 9));
    EXPECT_TRUE(bench.events.empty());
}

TEST_P(Uc, AReceiveThatIsNoneEndsTheQp) {
    bench.post(kUc, 3, {{kIova, 0x666, 64}});
    send(kUcSendOnly, psn(0), pattern(20, 1));
    settle();
    expect_error_cqe(0, 3, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    EXPECT_EQ(bench.qp(kUc).state, DINGO_QPS_ERR);
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_UC), 0u);
}

/// The host refuses bytes of a WRITE: there is no NAK on UC, only an event for the QP's owner.
TEST_P(Uc, MemoryThatCannotBeWrittenEndsTheQp) {
    bench.bad_bytes = {kBase + 64, kBase + 72};
    write(kUcWriteOnly, psn(0), kIova, 100, pattern(100, 1));
    settle();
    EXPECT_EQ(bench.qp(kUc).state, DINGO_QPS_ERR);
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].kind, DINGO_EV_QP_FATAL);
}

/// The WRITE drops the SEND, whose receive stays taken and is flushed when the WRITE fails.
TEST_P(Uc, AReceiveThatIsHeldWhenAWriteFailsIsFlushed) {
    post(7, 4096, 1024);
    post(8, 8192, 1024);
    send(kUcSendFirst, psn(0), pattern(256, 1));
    settle();
    bench.bad_bytes = {kBase + 64, kBase + 72};
    write(kUcWriteOnly, psn(1), kIova, 100, pattern(100, 1));
    settle();
    EXPECT_EQ(bench.qp(kUc).state, DINGO_QPS_ERR);
    ASSERT_EQ(bench.cqes.size(), 2u);
    expect_error_cqe(0, 7, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    expect_error_cqe(1, 8, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

/// Messages of one packet (quick path) and of several, with random loss: whole messages arrive,
/// each in the next receive.
TEST_P(Uc, RandomMessagesWithLossLeaveWholeOnesOnly) {
    std::mt19937 random{GetParam().seed};
    unsigned sent = 0, whole = 0, next = 0;
    for (unsigned i = 0; i < 16; ++i)
        post(i, i * 1024, 1024);
    for (unsigned m = 0; m < 300 && whole < 16; ++m) {
        const unsigned packets = 1 + random() % 3;
        bool lost = false;
        for (unsigned k = 0; k < packets; ++k, ++sent) {
            if (random() % 5 == 0) {
                lost = true;
                continue;
            }
            const std::uint8_t opcode = packets == 1       ? kUcSendOnly
                                        : k == 0           ? kUcSendFirst
                                        : k + 1 == packets ? kUcSendLast
                                                           : kUcSendMiddle;
            send(opcode, psn(sent), pattern(k + 1 == packets ? 77 : 256, m));
        }
        settle();
        if (lost)
            continue;
        ASSERT_EQ(bench.cqes.size(), whole + 1);
        EXPECT_EQ(bench.cqes[whole].wqe_index, next);
        EXPECT_EQ(bench.cqes[whole].byte_len, (packets - 1) * 256 + 77);
        EXPECT_EQ(bench.read_memory(kBase + next * 1024ULL + (packets - 1) * 256ULL, 77),
                  pattern(77, m));
        ++whole;
        ++next;
    }
    EXPECT_EQ(whole, 16u);
    EXPECT_GT(stat(DINGO_CARD_RX_DROP_UC), 1u);
}

}  // namespace
}  // namespace bench
