// SPDX-License-Identifier: BSD-2-Clause
//
// COMPARE_SWAP and FETCH_ADD at the responder: responses, their order, and the answer to a
// repetition. scatter_test.cpp tests that memory changes once and in order.
#include "responder_packets.h"

namespace bench {
namespace {

rtl::Rxh atomic(std::uint8_t opcode, std::uint32_t psn, std::uint64_t va, std::uint64_t swap_add,
                std::uint64_t compare = 0) {
    rtl::Rxh h = with_reth(opcode, psn, va, 8);  // dma_len 8, as dingo_rx_parse sets it
    h.swap_add = swap_add;
    h.compare = compare;
    return h;
}

class Atomics : public ResponderTest {
  protected:
    std::uint64_t word(std::uint64_t offset) {
        std::uint64_t value = 0;
        const Bytes bytes = bench.read_memory(kBase + offset, 8);
        std::memcpy(&value, bytes.data(), 8);
        return value;
    }
    void expect_answer(std::uint32_t psn, std::uint32_t msn, std::uint64_t value) {
        ASSERT_LT(seen_, bench.sent.size());
        const Sent& s = bench.sent[seen_++];
        EXPECT_EQ(s.d.opcode, kAtomicAck);
        EXPECT_EQ(s.d.syndrome, kSynAck);
        EXPECT_EQ(s.d.psn, psn & 0xffffff);
        EXPECT_EQ(s.d.msn, msn);
        EXPECT_EQ(s.d.swap_add, value);
        EXPECT_EQ(s.d.len, 0);
        EXPECT_TRUE(s.segs.empty());
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Atomics, kStalls);

TEST_P(Atomics, EachGetsTheWordAsItWas) {
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova + 64, 5));
    bench.packet(1, atomic(kFetchAdd, psn0() + 1, kIova + 64, 7));
    bench.packet(1, atomic(kCompareSwap, psn0() + 2, kIova + 64, 100, 12));
    bench.packet(1, atomic(kCompareSwap, psn0() + 3, kIova + 64, 200, 12));
    settle();
    EXPECT_EQ(word(64), 100u);
    expect_answer(psn0(), 1, 0);
    expect_answer(psn0() + 1, 2, 5);
    expect_answer(psn0() + 2, 3, 12);
    expect_answer(psn0() + 3, 4, 100);
    EXPECT_EQ(stat(DINGO_CARD_RX_ATOMIC_REQUESTS), 4u);
    EXPECT_EQ(stat(DINGO_CARD_RX_READ_REQUESTS), 0u);
}

TEST_P(Atomics, WritesAndReadsAroundThemKeepTheirOrder) {
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova + 64, 8), {1, 2, 3, 4, 5, 6, 7, 8});
    bench.packet(1, atomic(kFetchAdd, psn0() + 1, kIova + 64, 1));
    bench.packet(1, with_reth(kReadRequest, psn0() + 2, kIova + 64, 8));
    bench.packet(1, with_reth(kWriteOnly, psn0() + 3, kIova + 128, 8), pattern(8, 1));
    settle();
    EXPECT_EQ(word(64), 0x0807060504030202u);
    while (seen_ < bench.sent.size() && bench.sent[seen_].d.opcode == kAck)
        ++seen_;  // an ACK of the WRITE alone, if it was in memory early
    expect_answer(psn0() + 1, 2, 0x0807060504030201u);
    ASSERT_EQ(bench.sent.size(), seen_ + 2);
    EXPECT_EQ(bench.sent[seen_].d.opcode, kReadResponseOnly);
    EXPECT_EQ(bench.sent[seen_ + 1].d.opcode, kAck);
    EXPECT_EQ(bench.sent[seen_ + 1].d.psn, psn0() + 3);
}

TEST_P(Atomics, ARepeatedOneIsAnsweredAndNotDoneAgain) {
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova, 5));
    bench.packet(1, atomic(kFetchAdd, psn0() + 1, kIova, 5));
    settle();
    expect_answer(psn0(), 1, 0);
    expect_answer(psn0() + 1, 2, 5);
    bench.packet(1, atomic(kFetchAdd, psn0() + 1, kIova, 5));
    settle();
    expect_answer(psn0() + 1, 2, 5);
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova, 5));
    settle();
    expect_answer(psn0(), 1, 0);
    EXPECT_EQ(word(0), 10u);
    EXPECT_EQ(stat(DINGO_CARD_RX_ATOMIC_REQUESTS), 2u);
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 2u);
}

/// A READ with an atomic's PSN, an atomic with a READ's PSN, and an atomic whose slot four newer
/// ones have taken (max_dest_rd is 4) are dropped.
TEST_P(Atomics, ARepetitionOfAnotherKindOrTooOldIsDropped) {
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova, 5));
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 8));
    settle();
    seen_ = bench.sent.size();
    bench.packet(1, with_reth(kReadRequest, psn0(), kIova, 8));
    bench.packet(1, atomic(kFetchAdd, psn0() + 1, kIova, 5));
    settle();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 2u);
    for (unsigned i = 0; i < 4; ++i) {
        bench.packet(1, atomic(kFetchAdd, psn0() + 2 + i, kIova, 5));
        settle();
    }
    seen_ = bench.sent.size();
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova, 5));
    settle();
    EXPECT_EQ(bench.sent.size(), seen_);
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_DUPLICATE), 3u);
    EXPECT_EQ(word(0), 25u);
}

TEST_P(Atomics, WrongOnesAreRefusedWithTheirReason) {
    struct Case {
        const char* what;
        rtl::Rxh h;
        std::uint8_t syndrome;
    };
    rtl::Rxh key = atomic(kFetchAdd, 0, kIova, 5);
    key.rkey = 0x666;
    const Case cases[] = {{"address", atomic(kFetchAdd, 0, kIova + 4, 5), kSynInvalid},
                          {"key", key, kSynAccess},
                          {"bounds", atomic(kFetchAdd, 0, kIova + (1 << 20), 5), kSynAccess}};
    unsigned qp = 2;
    for (const Case& c : cases) {
        SCOPED_TRACE(c.what);
        bench.create_rc(qp);
        rtl::Rxh h = c.h;
        h.psn = bench.qp(qp).cfg.rq_psn;
        bench.packet(qp, h);
        settle();
        expect_reply(c.syndrome, h.psn, 0);
        EXPECT_EQ(bench.qp(qp).state, DINGO_QPS_ERR);
        ++qp;
    }
    EXPECT_EQ(word(0), 0u);
}

TEST_P(Atomics, AWordThatCannotBeReadEndsTheQp) {
    bench.bad_bytes = {kBase + 64, kBase + 72};
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova, 5));
    bench.packet(1, atomic(kFetchAdd, psn0() + 1, kIova + 64, 5));
    bench.packet(1, atomic(kFetchAdd, psn0() + 2, kIova + 8, 5));
    settle();
    expect_answer(psn0(), 1, 0);
    expect_reply(kSynOperation, psn0() + 1, 1);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
    ASSERT_EQ(bench.events.size(), 1u);
    EXPECT_EQ(bench.events[0].kind, DINGO_EV_QP_FATAL);
    EXPECT_EQ(bench.query(1).rq_psn, psn0() + 1);
}

/// The first packet of a SEND behind it takes a receive before the atomic fails; the receive is
/// flushed once.
TEST_P(Atomics, AReceiveTakenBehindOneThatFailsCompletesOnce) {
    bench.post(1, 7, {{kIova + 4096, kKey, 1024}});
    settle();
    bench.bad_bytes = {kBase + 64, kBase + 72};
    bench.packet(1, atomic(kFetchAdd, psn0(), kIova + 64, 5));
    bench.packet(1, request(kSendFirst, psn0() + 1), pattern(256, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    ASSERT_EQ(bench.cqes.size(), 1u);
    expect_error_cqe(0, 7, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

/// Atomics use READ slots: max_dest_rd is 4, so the fifth outstanding one is invalid.
TEST_P(Atomics, MoreThanThereArePlacesAreInvalid) {
    bench.halt_tx = true;
    for (unsigned i = 0; i < 5; ++i)
        bench.packet(1, atomic(kFetchAdd, psn0() + i, kIova, 1));
    for (unsigned i = 0; i < 500; ++i)
        bench.cycle();
    bench.halt_tx = false;
    settle();
    EXPECT_EQ(word(0), 4u);
    EXPECT_EQ(stat(DINGO_CARD_RESP_INVALID_REQUESTS), 1u);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
}

}  // namespace
}  // namespace bench
