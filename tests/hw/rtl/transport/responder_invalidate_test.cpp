// SPDX-License-Identifier: BSD-2-Clause
//
// SEND with invalidate, and the windows that a QP may use.
#include "responder_packets.h"

namespace bench {
namespace {

constexpr std::uint32_t kWindow = 0x00070022;
constexpr std::uint64_t kWindowBase = kBase + 0x80000;

class Invalidates : public ResponderTest {
  protected:
    Invalidates() { bench.add_region({kWindow, 7, 0x0e, kIova, 4096, kWindowBase, true, 1}); }
    /// IETH carries the key big-endian; Rxh.imm has its first octet lowest.
    static rtl::Rxh with_key(std::uint8_t opcode, std::uint32_t psn, std::uint32_t key) {
        rtl::Rxh h = request(opcode, psn);
        h.imm = __builtin_bswap32(key);
        return h;
    }
    void post(std::uint32_t tag = 0x10, std::uint32_t bytes = 2 * kPmtu) {
        bench.post(1, tag, {{kIova, kKey, bytes}});
        settle();
    }
    void expect_failure(std::uint8_t verr, std::uint32_t psn) {
        expect_reply(kSynAccess, psn, 1);
        expect_error_cqe(0, 0x10, DINGO_WCS_LOC_ACCESS_ERR, verr);
        ASSERT_EQ(bench.events.size(), 1u);
        EXPECT_EQ(bench.events[0].kind, DINGO_EV_QP_ACCESS_ERR);
        EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
        EXPECT_EQ(bench.query(1).rq_psn, psn + 1) << "all of the message came";
        EXPECT_EQ(stat(DINGO_CARD_RX_SEND_REQUESTS), 1u);
        EXPECT_EQ(stat(DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS), 1u);
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Invalidates, kStalls);

TEST_P(Invalidates, CompletionNamesTheKeyThatIsGone) {
    post(0x10);
    post(0x11);
    rtl::Rxh h = with_key(kSendOnlyInv, psn0(), kWindow);
    h.se = true;
    bench.packet(1, h, pattern(20, 1));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].wqe_index, 0x10u);
    EXPECT_EQ(bench.cqes[0].qpn_op, bench.qpn(1) | std::uint32_t{DINGO_WC_RECV_INV} << 24);
    EXPECT_EQ(bench.cqes[0].imm, kWindow);
    EXPECT_EQ(bench.cqes[0].byte_len, 20u);
    EXPECT_EQ(bench.cqes[0].flags, DINGO_CQE_FLAGS_INV_MASK | DINGO_CQE_FLAGS_SOLICITED_MASK);
    expect_reply(kSynAck, psn0(), 1);
    ASSERT_EQ(bench.works.size(), 1u);
    EXPECT_EQ(bench.works[0].qp, 1);
    EXPECT_EQ(bench.works[0].pdn, 7);
    bench.packet(1, request(kSendOnly, psn0() + 1), pattern(4, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 2u);
    EXPECT_EQ(bench.cqes[1].imm, 0u);
    EXPECT_EQ(bench.cqes[1].flags, 0u);
}

TEST_P(Invalidates, LastPacketOfALongMessageNamesIt) {
    post();
    bench.packet(1, request(kSendFirst, psn0(), false), pattern(kPmtu, 1));
    settle();
    EXPECT_TRUE(bench.works.empty());
    bench.packet(1, with_key(kSendLastInv, psn0() + 1, kWindow), pattern(4, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].byte_len, kPmtu + 4u);
    EXPECT_EQ(bench.cqes[0].imm, kWindow);
    EXPECT_EQ(bench.works.size(), 1u);
}

TEST_P(Invalidates, MessageWithoutBytesInvalidatesToo) {
    post();
    bench.packet(1, with_key(kSendOnlyInv, psn0(), kWindow));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].imm, kWindow);
}

TEST_P(Invalidates, KeyThatMayNotGoEndsTheQp) {
    post();
    bench.packet(1, with_key(kSendOnlyInv, psn0(), kKey), pattern(20, 1));
    settle();
    expect_failure(DINGO_VERR_KEY_ACCESS, psn0());
    EXPECT_EQ(bench.read_memory(kBase, 20), pattern(20, 1));
}

TEST_P(Invalidates, KeyThatNobodyHasEndsTheQpAndTheRestIsFlushed) {
    post(0x10);
    post(0x11);
    bench.packet(1, request(kSendFirst, psn0(), false), pattern(kPmtu, 1));
    bench.packet(1, with_key(kSendLastInv, psn0() + 1, kWindow + 1), pattern(4, 2));
    settle();
    expect_failure(DINGO_VERR_KEY, psn0() + 1);
    ASSERT_EQ(bench.cqes.size(), 2u);
    expect_error_cqe(1, 0x11, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_P(Invalidates, BytesThatMemoryRefusesCountMoreThanTheKey) {
    post();
    bench.bad_bytes = {kBase, kBase + 4};
    bench.packet(1, with_key(kSendOnlyInv, psn0(), kKey), pattern(20, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    expect_error_cqe(0, 0x10, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    EXPECT_TRUE(bench.events.empty());
}

/// dingo_rsp_intake looks keys up before their packets' steps. For packets behind the SEND these
/// results are void.
TEST_P(Invalidates, PacketsBehindItFindTheKeyGone) {
    bench.work_delay = 60;  // long enough that all packets are in the intake
    post();
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 8, kWindow), pattern(8, 1));
    bench.packet(1, with_key(kSendOnlyInv, psn0() + 1, kWindow), pattern(4, 2));
    for (unsigned n = 0; n < 4; ++n)
        bench.packet(1, with_reth(kWriteOnly, psn0() + 2 + n, kIova + 64, 8, kWindow),
                     pattern(8, 3));
    settle();
    EXPECT_EQ(bench.read_memory(kWindowBase, 8), pattern(8, 1));
    EXPECT_EQ(bench.read_memory(kWindowBase + 64, 8), Bytes(8));
    ASSERT_GE(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(bench.sent.back().d.syndrome, kSynAccess);
    EXPECT_EQ(bench.sent.back().d.psn, psn0() + 2);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
}

TEST_P(Invalidates, ReceivesOfOthersBehindItFindTheKeyGone) {
    constexpr std::uint32_t fast = 0x00080033;  // an lkey, too, unlike a window's key
    bench.add_region({fast, 7, 0x0f, kIova, 4096, kWindowBase, true});
    bench.create_rc(2);
    bench.work_delay = 60;
    post();
    bench.post(2, 0x20, {{kIova, fast, kPmtu}});
    settle();
    bench.packet(1, with_key(kSendOnlyInv, psn0(), fast), pattern(4, 2));
    bench.packet(2, request(kSendOnly, bench.qp(2).cfg.rq_psn), pattern(8, 3));
    settle();
    EXPECT_EQ(bench.read_memory(kWindowBase, 8), Bytes(8));
    ASSERT_EQ(bench.cqes.size(), 2u);
    expect_error_cqe(1, 0x20, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
}

TEST_P(Invalidates, RepetitionInvalidatesNothing) {
    post();
    bench.packet(1, with_key(kSendOnlyInv, psn0(), kWindow), pattern(4, 2));
    settle();
    bench.add_region({kWindow, 7, 0x0e, kIova, 4096, kWindowBase, true, 1});  // bound anew
    bench.packet(1, with_key(kSendOnlyInv, psn0(), kWindow), pattern(4, 2));
    settle();
    EXPECT_EQ(bench.works.size(), 1u);
    EXPECT_EQ(bench.sent.back().d.syndrome, kSynAck);
}

TEST_P(Invalidates, WindowOfType2IsAskedForWithTheQpThatUsesIt) {
    bench.create_rc(2);
    for (const unsigned qp : {1u, 2u})
        bench.packet(qp, with_reth(kWriteOnly, bench.qp(qp).cfg.rq_psn, kIova + 8 * qp, 8, kWindow),
                     pattern(8, qp));
    settle();
    EXPECT_EQ(bench.read_memory(kWindowBase + 8, 8), pattern(8, 1));
    EXPECT_EQ(bench.read_memory(kWindowBase + 16, 8), Bytes(8));
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_RTS);
    EXPECT_EQ(bench.qp(2).state, DINGO_QPS_ERR);
    bench.packet(1, with_reth(kReadRequest, psn0() + 1, kIova, 600, kWindow));
    settle();
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_RTS) << "each packet of a READ asks, too";
}

TEST_P(Invalidates, OfAnSrqItCompletesTheEntryThatItTook) {
    bench.create_srq(2);
    bench.create_rc(3);
    bench.share(3, 2);
    bench.add_region({kKey + 1, Bench::kSrqPd, 0x1f, kIova, 1 << 20, kBase});
    bench.add_region({kWindow, 7, 0x0e, kIova, 4096, kWindowBase, true, 3});
    bench.post_srq(2, 0x30, {{kIova, kKey + 1, kPmtu}});
    bench.post_srq(2, 0x31, {{kIova, kKey + 1, kPmtu}});
    settle();
    bench.packet(3, with_key(kSendOnlyInv, bench.qp(3).cfg.rq_psn, kWindow), pattern(4, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 1u);
    EXPECT_EQ(bench.cqes[0].imm, kWindow);
    bench.packet(3, with_key(kSendOnlyInv, bench.qp(3).cfg.rq_psn + 1, kWindow), pattern(4, 2));
    settle();
    ASSERT_EQ(bench.cqes.size(), 2u);
    expect_error_cqe(1, 0x31, DINGO_WCS_LOC_ACCESS_ERR, DINGO_VERR_KEY);
}

}  // namespace
}  // namespace bench
