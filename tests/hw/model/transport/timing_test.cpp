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
    /// Returns the time until the next packet is sent.
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
    /// Lets the wire accept `frames` more frames and then none.
    void wire_takes(unsigned frames) {
        card.wire.busy = false;
        card.wire.sink = [this, left = frames](std::span<const std::byte> one) mutable {
            card.wire.sent.emplace_back(one.begin(), one.end());
            card.wire.busy = --left == 0;
        };
    }
    void expect_packets(unsigned count) {
        EXPECT_EQ(card.wire.sent.size(), count);
        card.wire.sent.clear();
    }
    /// The rest of a message is sent now; expects a timeout after a whole interval without an
    /// answer.
    void expect_a_whole_timeout() {
        wire_takes(1'000);
        let_pass(kRetryWire);
        EXPECT_GT(card.wire.sent.size(), 0U);
        card.wire.sent.clear();
        const Nanoseconds waited = wait_for_packet(5 * t_tr(14));
        EXPECT_GE(waited, t_tr(14) - kRetryWire);
        EXPECT_LE(waited, t_tr(14));
    }

    /// a full wire is retried within this time
    static constexpr Nanoseconds kRetryWire = 1'000'000;
    static constexpr std::uint32_t kLong = 70 * kPmtu;  ///< requests an ACK in the middle, too
};

TEST_F(Timing, TheWaitForAnAnswerBeginsWhenItIsAskedFor) {
    start();
    wire_takes(5);
    post(request(DINGO_WR_WRITE, kLong));
    expect_packets(5);  // these request none
    let_pass(t_tr(14) * 9 / 10);
    expect_a_whole_timeout();
}

TEST_F(Timing, TheWaitForAnAnswerBeginsWhenItIsAskedForBehindOthersToo) {
    start();
    wire_takes(1 + 5);
    post(request(DINGO_WR_WRITE, 10));
    post(request(DINGO_WR_WRITE, kLong));
    expect_packets(1 + 5);
    let_pass(t_tr(14) / 2);
    in(ack(0));
    let_pass(t_tr(14) * 9 / 10);
    expect_a_whole_timeout();
}

TEST_F(Timing, TheWaitForAnAnswerToARepetitionBeginsWhenItIsAskedFor) {
    start();
    wire_takes(5);
    post(request(DINGO_WR_WRITE, kLong));
    expect_packets(5);
    in(ack(0, "nak:psn"));
    wire_takes(5);
    let_pass(kRetryWire);
    expect_packets(5);
    let_pass(t_tr(14) * 9 / 10);
    expect_a_whole_timeout();
}

TEST_F(Timing, WhoWasAskedForNothingYetIsNotLate) {
    start();
    wire_takes(5);
    post(request(DINGO_WR_WRITE, kLong));
    expect_packets(5);
    let_pass(t_tr(14) / 2);
    wire_takes(5);
    let_pass(5 * t_tr(14));
    expect_packets(5);
    EXPECT_EQ(stat(DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR), 0U);
    expect_a_whole_timeout();
}

TEST_F(Timing, RequestsBehindItMakeTheWaitForAnAnswerNoLonger) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    let_pass(t_tr(14) * 9 / 10);
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    EXPECT_EQ(wait_for_packet(t_tr(14)), t_tr(14) - t_tr(14) * 9 / 10);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
}

TEST_F(Timing, TimeoutsBeforeSqdMakeNoWaitAfterItLonger) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    for (unsigned n = 1; n <= 3; ++n) {
        EXPECT_EQ(wait_for_packet(4 * t_tr(14)), n * t_tr(14));
        expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    }
    card.driver.to_state(qp, DINGO_QPS_SQD);
    card.driver.to_state(qp, DINGO_QPS_RTS);
    wait_for_packet(4 * t_tr(14));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    EXPECT_EQ(wait_for_packet(4 * t_tr(14)), 2 * t_tr(14));
}

TEST_F(Timing, ACompletionTellsWhenItWasMade) {
    start();
    card.now = (0x5ULL << 32) + 0x87654321;
    card.settle();
    post(request(DINGO_WR_WRITE, 10));
    in(ack(0));
    const auto cqe = poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(std::uint64_t{cqe->ts_hi} << 32 | cqe->ts_lo, card.now);
}

TEST_F(Timing, AnAcknowledgementRestartsTheTimerAtTheTimeItCame) {
    Options options = defaults();
    options.path.timeout = 14;
    start(options);
    post(request(DINGO_WR_WRITE, 10));
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    card.now += t_tr(14) * 9 / 10;  // the card sleeps until the frame arrives
    in(ack(0));
    const Nanoseconds waited = wait_for_packet(5 * t_tr(14));
    EXPECT_GE(waited, t_tr(14));
    EXPECT_LE(waited, 4 * t_tr(14));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    in(ack(1));
    EXPECT_EQ(card.engine->next_deadline(), kNever) << "an idle card need not wake";
}

TEST_F(Timing, TimeoutZeroStaysForEverWhenAnAckComesLate) {
    Options options = defaults();
    options.path.timeout = 0;
    start(options);
    post(request(DINGO_WR_WRITE, 10));
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    expect_packet(Opcode::kRcWriteOnly, kCardPsn + 1);
    card.now += 1'000'000;  // the card sleeps until the frame arrives
    in(ack(0));
    let_pass(1'000'000'000);
    expect_silence();
    EXPECT_EQ(qp_stat(DINGO_QP_TIMEOUTS), 0U);
    EXPECT_EQ(card.engine->next_deadline(), kNever);
}

TEST_F(Timing, AnAcknowledgementMakesTheWaitForAReceiverNoLonger) {
    constexpr unsigned kCode = 12;
    start();
    post(request(DINGO_WR_SEND, 10));
    post(request(DINGO_WR_SEND, 10));
    expect_packet(Opcode::kRcSendOnly, kCardPsn);
    expect_packet(Opcode::kRcSendOnly, kCardPsn + 1);
    in(ack(0, "rnr:12"));
    card.now += packet::rnr_timer_ns(kCode) / 2;  // the card sleeps until the frame arrives
    in(ack(0));
    EXPECT_EQ(wait_for_packet(t_tr(14)), packet::rnr_timer_ns(kCode) / 2);
    expect_packet(Opcode::kRcSendOnly, kCardPsn + 1);
}

TEST_F(Timing, AQpInErrorHasNoTimeouts) {
    start();
    post(request(DINGO_WR_WRITE, 10));
    expect_packet(Opcode::kRcWriteOnly, kCardPsn);
    card.driver.to_state(qp, DINGO_QPS_ERR);
    card.settle();
    EXPECT_EQ(card.engine->next_deadline(), kNever) << "an idle card need not wake";
    let_pass(10 * t_tr(14));
    expect_silence();
    EXPECT_EQ(stat(DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR), 0U);
    EXPECT_EQ(qp_stat(DINGO_QP_TIMEOUTS), 0U);
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
        make_qp(options);
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
        make_qp(options);
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
