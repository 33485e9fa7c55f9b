// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_responder: NAKs, completions, events and the QP's state after requests that cannot be
// executed.
#include "responder_packets.h"

namespace bench {
namespace {

class Errors : public ResponderTest {
  protected:
    /// Posts two receives: what is left of them is flushed when the QP fails.
    void post_two() {
        bench.post(1, 0x10, {{kIova, kKey, 300}});
        bench.post(1, 0x11, {{kIova + 4096, kKey, 300}});
        settle();
    }
    void expect_flushed(std::size_t from, std::vector<std::uint32_t> tags) {
        ASSERT_EQ(bench.cqes.size(), from + tags.size());
        for (std::size_t i = 0; i < tags.size(); ++i)
            expect_error_cqe(from + i, tags[i], DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
        EXPECT_EQ(stat(DINGO_CARD_RESP_CQE_FLUSH_ERROR), tags.size());
    }
    void expect_event(std::uint8_t kind) {
        ASSERT_EQ(bench.events.size(), kind != 0 ? 1u : 0u);
        if (kind != 0) {
            EXPECT_EQ(bench.events[0].kind, kind);
            EXPECT_EQ(bench.events[0].id, bench.qpn(1));
        }
    }
    void expect_dead() {
        EXPECT_EQ(bench.qp(1).state, DINGO_QPS_ERR);
        EXPECT_EQ(bench.failed_qps, std::vector<unsigned>{1});
    }
};
INSTANTIATE_TEST_SUITE_P(Stalls, Errors, kStalls);

TEST_P(Errors, GapIsToldOnceAndRepaired) {
    for (unsigned i = 1; i < 4; ++i)
        bench.packet(1, with_reth(kWriteOnly, psn0() + i, kIova, 4), pattern(4, i));
    settle();
    expect_reply(kSynSequence, psn0(), 0);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 3u);
    EXPECT_EQ(qp_stat(DINGO_QP_OUT_OF_SEQUENCE), 3u);
    EXPECT_EQ(qp_stat(DINGO_QP_SEQ_NAK_SENT), 1u);
    EXPECT_EQ(qp_stat(DINGO_QP_ACKS_SENT), 0u);
    for (unsigned i = 0; i < 4; ++i)
        bench.packet(
            1,
            [&] {
                rtl::Rxh h = with_reth(kWriteOnly, psn0() + i, kIova, 4);
                h.ackreq = i == 3;
                return h;
            }(),
            pattern(4, i));
    settle();
    expect_reply(kSynAck, psn0() + 3, 4);
    EXPECT_EQ(bench.qp(1).state, DINGO_QPS_RTS);
}

TEST_P(Errors, RepeatedWriteIsAcknowledgedNotExecuted) {
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    settle();
    seen_ = bench.sent.size();
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 9));
    settle();
    expect_reply(kSynAck, psn0(), 1);
    EXPECT_EQ(bench.read_memory(kBase, 4), pattern(4, 1));
    EXPECT_EQ(stat(DINGO_CARD_DUPLICATE_REQUEST), 1u);
    EXPECT_EQ(stat(DINGO_CARD_RX_WRITE_REQUESTS), 1u);
}

/// A sequence NAK is owed when a repetition asks for an ACK: only the NAK is sent. It acknowledges
/// the same packets.
TEST_P(Errors, RepetitionDoesNotReplaceANak) {
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    settle();
    seen_ = bench.sent.size();
    bench.halt_tx = true;
    bench.packet(1, with_reth(kWriteOnly, psn0() + 2, kIova, 4), pattern(4, 1));  // a gap
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    settle();
    bench.halt_tx = false;
    settle();
    expect_reply(kSynSequence, psn0() + 1, 1);
}

TEST_P(Errors, NoReceiveIsNotReady) {
    bench.packet(1, request(kSendOnly, psn0()), pattern(8, 1));
    bench.packet(1, request(kSendOnly, psn0() + 1), pattern(8, 2));  // sent before the RNR NAK came
    settle();
    expect_reply(0x20 | 12, psn0(), 0);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_BUFFER), 1u);
    EXPECT_EQ(stat(DINGO_CARD_RNR_NAK_SENT), 1u);
    EXPECT_EQ(qp_stat(DINGO_QP_RNR_NAK_SENT), 1u);
    EXPECT_EQ(stat(DINGO_CARD_OUT_OF_SEQUENCE), 0u);
    bench.post(1, 3, {{kIova, kKey, 64}});
    settle();
    bench.packet(1, request(kSendOnly, psn0()), pattern(8, 1));
    settle();
    expect_reply(kSynAck, psn0(), 1);
    ASSERT_EQ(bench.cqes.size(), 1u);
}

TEST_P(Errors, OpcodeOutOfOrderEndsTheQueuePair) {
    post_two();
    bench.packet(1, request(kSendFirst, psn0(), false), pattern(256, 1));
    bench.packet(1, request(kWriteMiddle, psn0() + 1), pattern(256, 1));
    bench.packet(1, request(kSendLast, psn0() + 1), pattern(4, 1));  // the QP is in ERR by then
    settle();
    expect_reply(kSynInvalid, psn0() + 1, 0);
    expect_event(DINGO_EV_QP_REQ_ERR);
    expect_flushed(0, {0x10, 0x11});  // 0x10 was taken by the SEND
    expect_dead();
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_QP_STATE), 1u);
    EXPECT_EQ(stat(DINGO_CARD_RESP_INVALID_REQUESTS), 1u);
}

TEST_P(Errors, OperationsWithoutARightAreInvalid) {
    const std::uint8_t ops[] = {kWriteOnly, kReadRequest, kFetchAdd};
    for (unsigned i = 0; i < 3; ++i) {
        const unsigned qp = 2 + i;
        bench.create_rc(qp);
        bench.qp(qp).cfg.access = 0;
        bench.packet(qp, with_reth(ops[i], bench.qp(qp).cfg.rq_psn, kIova, 0));
        settle();
        expect_reply(kSynInvalid, bench.qp(qp).cfg.rq_psn, 0);
        EXPECT_EQ(bench.qp(qp).state, DINGO_QPS_ERR);
    }
    EXPECT_EQ(stat(DINGO_CARD_RESP_INVALID_REQUESTS), 3u);
}

TEST_P(Errors, LengthsThatDoNotFitTheMessageAreInvalid) {
    struct Case {
        rtl::Rxh h;
        std::size_t bytes;
    };
    bench.add_region({kKey, 7, 0x1f, kIova, 1 << 20, kBase});
    const std::vector<Case> cases = {
        {request(kSendFirst, 0), 255},                       // not a full packet
        {request(kSendOnly, 0), 257},                        // more than the path MTU
        {with_reth(kWriteOnly, 0, kIova, 5), 4},             // not the length of the RETH
        {with_reth(kWriteFirst, 0, kIova, 256), 256},        // no byte left for the LAST
        {with_reth(kReadRequest, 0, kIova, 0x80000001), 0},  // longest message is 2^31
        {with_reth(kReadRequest, 0, kIova, 4), 1},           // a READ has no payload
    };
    for (unsigned i = 0; i < cases.size(); ++i) {
        const unsigned qp = 2 + i;
        bench.create_rc(qp);
        bench.post(qp, qp, {{kIova, kKey, 4096}});
        settle();
        const std::size_t before = bench.cqes.size();
        rtl::Rxh h = cases[i].h;
        h.psn = bench.qp(qp).cfg.rq_psn;
        bench.packet(qp, h, pattern(cases[i].bytes, 1));
        settle();
        expect_reply(kSynInvalid, h.psn, 0);
        EXPECT_EQ(bench.qp(qp).state, DINGO_QPS_ERR) << i;
        ASSERT_EQ(bench.cqes.size(), before + 1);
        expect_error_cqe(before, qp, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    }
    EXPECT_EQ(bench.events.size(), cases.size());
}

TEST_P(Errors, ReceiveThatIsTooShortFails) {
    post_two();
    bench.packet(1, request(kSendFirst, psn0(), false), pattern(256, 1));
    bench.packet(1, request(kSendLast, psn0() + 1), pattern(45, 1));
    settle();
    expect_reply(kSynInvalid, psn0() + 1, 0);
    ASSERT_GE(bench.cqes.size(), 1u);
    expect_error_cqe(0, 0x10, DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_RQ_TOO_SHORT);
    expect_flushed(1, {0x11});
    expect_event(0);
    expect_dead();
    EXPECT_EQ(stat(DINGO_CARD_RESP_LOCAL_LENGTH_ERROR), 1u);
    EXPECT_EQ(stat(DINGO_CARD_RESP_CQE_ERROR), 1u);
    EXPECT_EQ(qp_stat(DINGO_QP_RECV_CQES), 2u);
}

TEST_P(Errors, RemoteKeyIsCheckedForTheWholeMessageFirst) {
    post_two();
    bench.packet(1, with_reth(kWriteFirst, psn0(), kIova, (1 << 20) + 1), pattern(256, 1));
    settle();
    expect_reply(kSynAccess, psn0(), 0);
    EXPECT_TRUE(bench.memory.empty());
    expect_event(DINGO_EV_QP_ACCESS_ERR);
    expect_flushed(0, {0x10, 0x11});
    EXPECT_EQ(stat(DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS), 1u);
}

TEST_P(Errors, RemoteKeyIsCheckedAgainForEachPacket) {
    bench.packet(1, with_reth(kWriteFirst, psn0(), kIova, 600), pattern(256, 1));
    settle();
    seen_ = bench.sent.size();
    bench.remove_region(kKey);
    bench.packet(1, request(kWriteMiddle, psn0() + 1), pattern(256, 1));
    settle();
    expect_reply(kSynAccess, psn0() + 1, 0);
    expect_event(DINGO_EV_QP_ACCESS_ERR);
    expect_dead();
}

/// A WRITE with immediate data whose key is refused returns its receive to the queue, where it is
/// flushed in order.
TEST_P(Errors, RefusedWriteGivesItsReceiveBack) {
    post_two();
    bench.packet(1, with_reth(kWriteOnlyImm, psn0(), kIova, 4, 0xbad), pattern(4, 1));
    settle();
    expect_reply(kSynAccess, psn0(), 0);
    expect_flushed(0, {0x10, 0x11});
}

TEST_P(Errors, LocalKeyOfAReceiveFails) {
    bench.post(1, 0x10, {{kIova, kKey, 100}, {kIova + 100, 0xbad, 200}});
    bench.post(1, 0x11, {{kIova + 4096, kKey, 300}});
    settle();
    bench.packet(1, request(kSendOnly, psn0()), pattern(150, 1));
    bench.packet(1, request(kSendOnly, psn0() + 1), pattern(150, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    ASSERT_GE(bench.cqes.size(), 1u);
    expect_error_cqe(0, 0x10, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
    expect_flushed(1, {0x11});
    expect_event(0);
    expect_dead();
    EXPECT_EQ(stat(DINGO_CARD_RESP_REMOTE_OP_ERRORS), 1u);
}

TEST_P(Errors, MalformedReceiveFails) {
    bench.write_wqe(1, 0x10, {{kIova, kKey, 100}}, 1);           // reserved bits
    bench.write_wqe(1, 0x11, {{kIova, kKey, 100}, {}, {}, {}});  // more SGEs than the stride has
    bench.ring(1);
    settle();
    bench.packet(1, request(kSendOnly, psn0()), pattern(50, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    ASSERT_GE(bench.cqes.size(), 1u);
    expect_error_cqe(0, 0x10, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE);
    expect_flushed(1, {0x11});
    bench.create_rc(1);
    bench.cqes.clear();
    bench.write_wqe(1, 0x12, {{kIova, kKey, 1}, {}, {}, {}});
    bench.ring(1);
    settle();
    bench.packet(1, request(kSendOnly, psn0()), pattern(1, 1));
    settle();
    expect_error_cqe(0, 0x12, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE);
}

TEST_P(Errors, ReceiveThatCannotBeReadFails) {
    bench.bad_lines.insert(bench.ring_address(1) / 64);
    post_two();
    bench.packet(1, request(kSendOnly, psn0()), pattern(50, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    ASSERT_GE(bench.cqes.size(), 1u);
    expect_error_cqe(0, 0, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
    expect_flushed(1, {0x11});
}

TEST_P(Errors, PageListThatCannotBeReadFailsTheReceive) {
    bench.page_ring(1);
    bench.bad_lines.insert(bench.list_address(1) / 64);
    bench.post(1, 0x10, {{kIova, kKey, 300}});
    settle();
    bench.packet(1, request(kSendOnly, psn0()), pattern(50, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    ASSERT_EQ(bench.cqes.size(), 1u);
    expect_error_cqe(0, 0, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
}

/// Packets behind a bus error have done phase 1 when the error is found: they become void, and the
/// receives that they took are flushed.
TEST_P(Errors, BusErrorVoidsWhatCameBehind) {
    for (unsigned i = 0; i < 4; ++i)
        bench.write_wqe(1, 0x10 + i, {{kIova + 4096 * i, kKey, 300}});
    bench.ring(1);
    settle();
    bench.bad_bytes = {kBase + 4096, kBase + 4097};
    for (unsigned i = 0; i < 3; ++i)
        bench.packet(1, request(kSendOnly, psn0() + i, i > 0), pattern(200, i));
    bench.packet(1, with_reth(kReadRequest, psn0() + 3, kIova, 100));
    settle();
    expect_reply(kSynOperation, psn0() + 1, 1);
    ASSERT_GE(bench.cqes.size(), 2u);
    EXPECT_EQ(bench.cqes[0].status, DINGO_WCS_SUCCESS);
    expect_error_cqe(1, 0x11, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    expect_flushed(2, {0x12, 0x13});
    expect_event(0);
    expect_dead();
    EXPECT_EQ(bench.query(1).rq_psn, psn0() + 1);
    EXPECT_EQ(stat(DINGO_CARD_RX_READ_REQUESTS), 0u);
}

TEST_P(Errors, BusErrorOfAWriteIsFatal) {
    post_two();
    bench.bad_bytes = {kBase, kBase + 1};
    bench.packet(1, with_reth(kWriteOnlyImm, psn0(), kIova, 4), pattern(4, 1));
    settle();
    expect_reply(kSynOperation, psn0(), 0);
    expect_flushed(0, {0x10, 0x11});
    expect_event(DINGO_EV_QP_FATAL);
}

/// Messages that are on their way to memory when the QP fails complete before the flushed ones.
TEST_P(Errors, FailureElsewhereKeepsTheOrderOfCompletions) {
    for (unsigned i = 0; i < 6; ++i)
        bench.write_wqe(1, 0x10 + i, {{kIova + 4096 * i, kKey, 300}});
    bench.ring(1);
    settle();
    for (unsigned i = 0; i < 4; ++i)
        bench.packet(1, request(kSendOnly, psn0() + i), pattern(200, i));
    for (int i = 0; i < 60; ++i)
        bench.cycle();
    bench.requester_failed(1);
    settle();
    ASSERT_EQ(bench.cqes.size(), 6u);
    bool flushed = false;
    for (unsigned i = 0; i < 6; ++i) {
        EXPECT_EQ(bench.cqes[i].wqe_index, 0x10 + i);
        if (bench.cqes[i].status != DINGO_WCS_SUCCESS)
            flushed = true;
        else
            EXPECT_FALSE(flushed) << "a success behind a flush";
    }
    EXPECT_TRUE(bench.failed_qps.empty()) << "the requester knows";
    EXPECT_TRUE(bench.events.empty());
    bench.post(1, 0x99, {});  // a receive that is posted in ERR is flushed, too
    settle();
    expect_error_cqe(6, 0x99, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
}

TEST_P(Errors, FailedCompletionQueueEndsTheQueuePairOnce) {
    post_two();
    bench.cq_failed(1);
    bench.cq_failed(1);
    settle();
    expect_event(DINGO_EV_QP_FATAL);
    expect_dead();
    expect_flushed(0, {0x10, 0x11});
    bench.qp(2) = {};
    bench.cq_failed(2);  // a QP in RESET: ignored
    settle();
    EXPECT_EQ(bench.events.size(), 1u);
}

TEST_P(Errors, LongQueueIsFlushedInSeveralTurns) {
    bench.create_rc(2, 6, 5);
    for (unsigned i = 0; i < 64; ++i)
        bench.write_wqe(2, i, {{kIova, kKey, 1}});
    bench.ring(2);
    settle();
    bench.requester_failed(2);
    settle();
    ASSERT_EQ(bench.cqes.size(), 64u);
    for (unsigned i = 0; i < 64; ++i)
        expect_error_cqe(i, i, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    EXPECT_EQ(bench.query(2).rq_consumer, 64u);
}

/// Before a QP is destroyed or goes to ERR, the ACK that it owes is sent, also while sending is
/// halted: the peer could not repeat its requests afterwards.
TEST_P(Errors, OwedAcknowledgementLeavesBeforeTheQueuePair) {
    for (const bool destroy : {false, true}) {
        bench.create_rc(1);
        bench.halt_tx = true;
        bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
        settle();
        EXPECT_EQ(bench.sent.size(), seen_);
        rtl::QpaReq leave;
        leave.qp = 1;
        leave.op = destroy ? rtl::kQpaClear : rtl::kQpaModify;
        leave.destroy = destroy;
        leave.mask = DINGO_QPM_STATE;
        leave.old_state = DINGO_QPS_RTS;
        leave.ctx = bench.qp(1);
        leave.ctx.state = destroy ? DINGO_QPS_RTS : DINGO_QPS_ERR;
        bench.command(leave);
        settle();
        expect_reply(kSynAck, psn0(), 1);
        bench.halt_tx = false;
        settle();
        EXPECT_EQ(bench.sent.size(), seen_) << "once";
        if (destroy) {
            const rtl::RspInfo info = bench.query(1);
            EXPECT_EQ(info.rq_psn, 0u);
            EXPECT_EQ(info.msn, 0u);
        }
    }
}

TEST_P(Errors, PacketsOfAFailedQueuePairAreDropped) {
    bench.requester_failed(1);
    settle();
    bench.qp(1).state = DINGO_QPS_RTS;  // dingo_dispatch read the state before the failure
    bench.packet(1, with_reth(kWriteOnly, psn0(), kIova, 4), pattern(4, 1));
    settle();
    EXPECT_TRUE(bench.sent.empty());
    EXPECT_TRUE(bench.memory.empty());
    EXPECT_EQ(stat(DINGO_CARD_RX_DROP_QP_STATE), 1u);
}

}  // namespace
}  // namespace bench
