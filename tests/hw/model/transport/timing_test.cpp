// SPDX-License-Identifier: BSD-2-Clause
//
// Timers of the RC requester: ACK timeout and its retries, RNR waits and their retries.
#include "peer.h"

namespace dingo::test {
namespace {

using packet::Opcode;

class Timing : public Peer {
  protected:
    Nanoseconds t_tr(unsigned timeout) { return 4096ULL << timeout; }
    /// Time until the next packet leaves.
    Nanoseconds wait_for_packet(Nanoseconds limit) {
        const Nanoseconds start = card.now;
        while (card.wire.sent.empty()) {
            const Nanoseconds deadline = card.engine->next_deadline();
            if (deadline > start + limit) {
                ADD_FAILURE() << "nothing is sent within " << limit << " ns";
                break;
            }
            card.now = std::max(card.now + 1, deadline);
            card.settle();
        }
        return card.now - start;
    }
};

TEST_F(Timing, FirstRetryComesBetweenOneAndFourTimeouts) {  // C9-140
    start_card();
    for (const unsigned timeout : {1U, 8U, 14U, 18U, 31U}) {
        SCOPED_TRACE(timeout);
        Options options = defaults();
        options.path.timeout = static_cast<std::uint8_t>(timeout);
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        post(request(DINGO_WR_WRITE, 10));
        expect_packet(Opcode::kRcWriteOnly, kCardPsn);
        const Nanoseconds waited = wait_for_packet(5 * t_tr(timeout));
        EXPECT_GE(waited, t_tr(timeout));
        EXPECT_LE(waited, 4 * t_tr(timeout));
        expect_packet(Opcode::kRcWriteOnly, kCardPsn);
        in(ack(0));
        EXPECT_EQ(poll()->status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(card.engine->next_deadline(), kNever);
    }
}

TEST_F(Timing, AnAcknowledgementRestartsTheTimerAtTheTimeItCame) {
    Options options = defaults();
    options.path.timeout = 14;
    start(options);
    post(request(DINGO_WR_WRITE, 10));
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    card.now += t_tr(14) * 9 / 10;  // the card sleeps until the frame comes
    in(ack(0));
    const Nanoseconds waited = wait_for_packet(5 * t_tr(14));
    EXPECT_GE(waited, t_tr(14));
    EXPECT_LE(waited, 4 * t_tr(14));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
}

TEST_F(Timing, TimeoutZeroWaitsForEver) {
    Options options = defaults();
    options.path.timeout = 0;
    start(options);
    post(request(DINGO_WR_WRITE, 10));
    EXPECT_EQ(card.engine->next_deadline(), kNever);
}

TEST_F(Timing, TimeoutZeroStaysForEverWhenAnAckComesLate) {
    Options options = defaults();
    options.path.timeout = 0;
    start(options);
    post(request(DINGO_WR_WRITE, 10));
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    card.now += 1'000'000;  // the card sleeps until the frame comes
    in(ack(0));
    let_pass(1'000'000'000);
    expect_silence();
    EXPECT_EQ(qp_stat(DINGO_QP_TIMEOUTS), 0U);
    EXPECT_EQ(card.engine->next_deadline(), kNever);
}

TEST_F(Timing, RetriesAreExhaustedAfterExactlyThatManySends) {
    start_card();
    for (unsigned retries = 0; retries <= 7; ++retries) {
        SCOPED_TRACE(retries);
        Options options = defaults();
        options.path.retry_cnt = static_cast<std::uint8_t>(retries);
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        const Nanoseconds start = card.now;
        post(request(DINGO_WR_WRITE, 10));
        post(request(DINGO_WR_WRITE, 10));
        let_pass((retries + 1) * 4 * t_tr(14));
        unsigned sends = 0;
        while (next())
            sends += packet.bth.psn == kCardPsn;
        EXPECT_EQ(sends, retries + 1);
        const auto cqe = poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->status, DINGO_WCS_RETRY_EXC_ERR);
        EXPECT_EQ(cqe->vendor_err, DINGO_VERR_TIMEOUT);
        EXPECT_GE((std::uint64_t{cqe->ts_hi} << 32 | cqe->ts_lo) - start, (retries + 1) * t_tr(14));
        EXPECT_EQ(poll()->status, DINGO_WCS_WR_FLUSH_ERR);
        EXPECT_EQ(qp_stat(DINGO_QP_TIMEOUTS), retries + 1);
        EXPECT_EQ(card.engine->next_deadline(), kNever);
    }
    EXPECT_EQ(stat(DINGO_CARD_REQ_TRANSPORT_RETRIES_EXCEEDED), 8U);
}

TEST_F(Timing, ProgressGivesTheRetriesBack) {
    Options options = defaults();
    options.path.retry_cnt = 1;
    start(options);
    post(request(DINGO_WR_WRITE, 256 * 8));
    for (std::uint32_t n = 0; n < 7; ++n) {
        while (next()) {
        }
        let_pass(t_tr(14) * 3 / 2);
        ASSERT_TRUE(next());  // the one retry
        EXPECT_EQ(packet.bth.psn, kCardPsn + n);
        in(ack(n));  // one packet further each time
    }
    in(ack(7));
    EXPECT_EQ(poll()->status, DINGO_WCS_SUCCESS);
}

TEST_F(Timing, ALateAckStopsTheTimer) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    let_pass(t_tr(14) - 1000);
    in(ack(0));
    EXPECT_EQ(poll()->status, DINGO_WCS_SUCCESS);
    while (next()) {
    }
    let_pass(20 * t_tr(14));
    expect_silence();
    EXPECT_EQ(qp_stat(DINGO_QP_TIMEOUTS), 0U);
}

TEST_F(Timing, EveryRnrTimerIsWaitedFor) {
    start();
    std::uint32_t n = 0;
    for (unsigned code = 0; code < 32; ++code) {
        SCOPED_TRACE(code);
        const std::uint64_t wanted = packet::rnr_timer_ns(static_cast<std::uint8_t>(code));
        post(request(DINGO_WR_SEND, 10));
        expect_packet(Opcode::kRcSendOnly, kCardPsn + n);
        in(ack(n, ("rnr:" + std::to_string(code)).c_str()));
        expect_silence();
        const Nanoseconds waited = wait_for_packet(2 * wanted);
        EXPECT_GE(waited, wanted);
        EXPECT_LE(waited, wanted * 6 / 5);
        expect_packet(Opcode::kRcSendOnly, kCardPsn + n);
        in(ack(n++));
        EXPECT_EQ(poll()->status, DINGO_WCS_SUCCESS);
    }
}

TEST_F(Timing, RnrRetriesAreExhaustedAfterExactlyThatManySends) {
    start_card();
    for (unsigned retries = 0; retries < 7; ++retries) {
        SCOPED_TRACE(retries);
        Options options = defaults();
        options.path.rnr_retry = static_cast<std::uint8_t>(retries);
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        post(request(DINGO_WR_SEND, 10));
        unsigned sends = 0;
        while (next()) {
            ++sends;
            in(ack(0, "rnr:5"));
            let_pass(1'000'000);
        }
        EXPECT_EQ(sends, retries + 1);
        const auto cqe = poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(cqe->status, DINGO_WCS_RNR_RETRY_EXC_ERR);
        EXPECT_EQ(cqe->vendor_err, DINGO_VERR_RNR);
    }
}

TEST_F(Timing, RnrRetrySevenNeverGivesUp) {
    start();  // rnr_retry is 7
    post(request(DINGO_WR_SEND, 10));
    const Nanoseconds end = card.now + 60'000'000'000;
    unsigned sends = 0;
    while (card.now < end) {
        wait_for_packet(1'000'000'000);
        ASSERT_TRUE(next());
        ++sends;
        in(ack(0, "rnr:31"));
    }
    EXPECT_GT(sends, 100U);
    EXPECT_EQ(state(), DINGO_QPS_RTS);
    let_pass(500'000'000);
    in(ack(0));
    EXPECT_EQ(poll()->status, DINGO_WCS_SUCCESS);
}

TEST_F(Timing, DestroyingAQpStopsItsTimers) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    while (next()) {
    }
    EXPECT_NE(card.engine->next_deadline(), kNever);
    ASSERT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    let_pass(10 * t_tr(14));
    EXPECT_EQ(card.engine->next_deadline(), kNever);
    expect_silence();
    EXPECT_FALSE(poll());
}

TEST_F(Timing, ManyTimersFireInOrder) {
    start_card();
    std::vector<TestQp> qps;
    for (unsigned i = 0; i < 200; ++i) {
        Options options = defaults();
        options.path.timeout = static_cast<std::uint8_t>(5 + i * 7 % 11);
        options.path.retry_cnt = 0;
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        post(request(DINGO_WR_WRITE, 10));
        qps.push_back(qp);
    }
    for (unsigned i = 0; i < 200; i += 3)
        card.driver.destroy(DINGO_OP_DESTROY_QP, qps[i].qpn);
    let_pass(4 * t_tr(15));
    unsigned failed = 0;
    Nanoseconds last = 0;
    while (const auto cqe = poll()) {
        const Nanoseconds when = std::uint64_t{cqe->ts_hi} << 32 | cqe->ts_lo;
        EXPECT_GE(when, last);
        last = when;
        EXPECT_EQ(cqe->status, DINGO_WCS_RETRY_EXC_ERR);
        ++failed;
    }
    EXPECT_EQ(failed, 133U);
}

TEST_F(Timing, ManyTimersAtOnceDoNotExceedTheBudgetOfARun) {
    constexpr unsigned kCount = 100, kBudget = 8;
    start_card();
    const Options options = defaults();
    for (unsigned i = 0; i < kCount; ++i) {
        qp = card.driver.create_qp(cq, cq, options.qp);
        card.driver.to_init(qp, options.path);
        card.driver.to_rtr(qp, options.path);
        card.driver.to_rts(qp, options.path);
        card.driver.post_send(qp, request(DINGO_WR_WRITE, 10));
    }
    card.settle();
    card.now += 4 * t_tr(14);
    EXPECT_TRUE(card.engine->run(card.now, kBudget));
    EXPECT_LE(stat(DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR), kBudget);
    card.settle();
    EXPECT_EQ(stat(DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR), kCount);
}

}  // namespace
}  // namespace dingo::test
