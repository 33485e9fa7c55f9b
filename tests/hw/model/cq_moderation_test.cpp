// SPDX-License-Identifier: BSD-2-Clause
//
// Moderated events of a CQ with exact times, driven by the Ethernet function.
#include <gtest/gtest.h>

#include "two_cards.h"

namespace dingo::test {
namespace {

constexpr Nanoseconds kPeriod = 1'000'000;

class ModeratedCq : public testing::Test {
  protected:
    ModeratedCq() {
        d.start();
        d.enable_port();
        frame = card.host.alloc(4096);
        cq = d.create_cq(6);
        tx = d.create_eth(DINGO_ETH_TX, 0, cq, 10);
        d.ring_eq(d.comp_eq);
        moderate(100, kPeriod / 1000);
        card.settle();
    }
    void moderate(std::uint16_t count, std::uint16_t period) {
        dingo_cmd_modify_cq cmd{};
        cmd.cqn = cq.cqn;
        cmd.count = count;
        cmd.period = period;
        d.execute_ok(DINGO_OP_MODIFY_CQ, cmd);
    }
    void complete(unsigned count = 1) {
        for (unsigned i = 0; i < count; ++i) {
            d.post_eth(tx, frame, 64, DINGO_ETH_DESC_FLAGS_EOP_MASK);
        }
        card.settle();
    }
    void consume() {
        while (d.poll_cq(cq)) {
        }
        d.ring_cq(cq);
    }
    unsigned events() {
        unsigned count = 0;
        while (d.poll_eq(d.comp_eq)) {
            ++count;
        }
        d.ring_eq(d.comp_eq);
        return count;
    }
    [[nodiscard]] Nanoseconds deadline() const { return card.engine->next_deadline(); }

    OneCard card;
    TestDriver& d = card.driver;
    Cq cq;
    EthRing tx;
    std::uint64_t frame = 0;
};

TEST_F(ModeratedCq, EngineAsksToBeCalledAtTheEndOfThePeriod) {
    EXPECT_EQ(deadline(), kNever);
    d.arm_cq(cq);
    EXPECT_EQ(deadline(), kNever);
    card.now += 77;
    complete();
    const Nanoseconds due = card.now + kPeriod;
    EXPECT_EQ(deadline(), due);
    card.now += 500;
    complete();
    EXPECT_EQ(deadline(), due);
    card.now = due - 1;
    card.settle();
    EXPECT_EQ(events(), 0u);
    card.now = due;
    card.settle();
    EXPECT_EQ(events(), 1u);
    EXPECT_EQ(deadline(), kNever);
}

TEST_F(ModeratedCq, FrameThatArrivesBetweenTwoRunsComesNow) {
    Cq rx_cq = d.create_cq(6);
    EthRing rx = d.create_eth(DINGO_ETH_RX, 0, rx_cq, 4);
    dingo_cmd_modify_cq cmd{};
    cmd.cqn = rx_cq.cqn;
    cmd.period = kPeriod / 1000;
    d.execute_ok(DINGO_OP_MODIFY_CQ, cmd);
    d.post_eth(rx, card.host.alloc(4096), 2048);
    d.arm_cq(rx_cq);
    card.settle();
    card.now += 50 * kPeriod;  // not yet known to the engine
    std::vector<std::byte> broadcast(64, std::byte{0xFF});
    deliver(*card.engine, broadcast);
    EXPECT_LE(deadline(), card.now) << "it wants to know";
    card.settle();
    EXPECT_EQ(events(), 0u);
    EXPECT_EQ(deadline(), card.now + kPeriod);
    card.now += kPeriod;
    card.settle();
    EXPECT_EQ(events(), 1u);
}

TEST_F(ModeratedCq, WhatWasConsumedBeforeTheArmingDoesNotCount) {
    moderate(4, kPeriod / 1000);
    complete(3);
    consume();
    card.now += 10 * kPeriod;
    d.arm_cq(cq);
    complete(3);
    EXPECT_EQ(events(), 0u);
    EXPECT_EQ(deadline(), card.now + kPeriod);
    complete();
    EXPECT_EQ(events(), 1u);
}

TEST_F(ModeratedCq, PeriodBeginsWithACompletionBeforeTheArming) {
    card.now += 10 * kPeriod;
    complete();
    const Nanoseconds first = card.now;
    card.now += 300;
    d.arm_cq(cq);
    card.settle();
    EXPECT_EQ(deadline(), first + kPeriod);
}

TEST_F(ModeratedCq, PeriodOfCompletionsThatWereNotModeratedBeginsWithTheModeration) {
    moderate(0, 0);
    complete();
    card.now += 10 * kPeriod;
    const Nanoseconds from = card.now;
    moderate(100, kPeriod / 1000);
    card.now += 300;
    d.arm_cq(cq);
    card.settle();
    EXPECT_EQ(deadline(), from + kPeriod);
}

TEST_F(ModeratedCq, AnotherPeriodBeginsWhereTheOneBeforeItDid) {
    for (const std::uint16_t period : {std::uint16_t{1}, std::uint16_t{1'000}}) {
        SCOPED_TRACE(period);
        moderate(100, period);
        card.now += 77;
        complete();
        const Nanoseconds first = card.now;
        card.now += 300;
        moderate(100, 2 * kPeriod / 1000);
        d.arm_cq(cq);
        card.settle();
        EXPECT_EQ(deadline(), first + 2 * kPeriod);
        consume();
        card.now = first + 2 * kPeriod;
        card.settle();
        EXPECT_EQ(events(), 1u);
    }
}

TEST_F(ModeratedCq, WhatWasConsumedSinceHasItsEventAllTheSame) {
    d.arm_cq(cq);
    complete();
    const Nanoseconds due = deadline();
    consume();
    card.now = due;
    card.settle();
    EXPECT_EQ(events(), 1u) << "who waits for the event has been promised it";
}

TEST_F(ModeratedCq, OneRunWritesABoundedNumberOfEvents) {
    constexpr unsigned kCqs = 40;
    const Eq eq = d.create_eq(7, 2, 8);
    std::vector<Cq> cqs;
    for (unsigned i = 0; i < kCqs; ++i) {
        Cq& made = cqs.emplace_back(d.create_cq(4, 7));
        dingo_cmd_modify_cq cmd{};
        cmd.cqn = made.cqn;
        cmd.period = 1;
        d.execute_ok(DINGO_OP_MODIFY_CQ, cmd);
        TestQp qp = d.create_qp(made, made);
        d.to_init(qp, {});
        d.post_recv(qp, 1, {});
        d.arm_cq(made);
        d.to_state(qp, DINGO_QPS_ERR);
    }
    card.settle();
    card.now += 1000;
    EXPECT_TRUE(card.engine->run(card.now, 8)) << "there is more";
    Eq view = eq;
    unsigned written = 0;
    while (d.poll_eq(view)) {
        ++written;
    }
    EXPECT_GE(written, 1u);
    EXPECT_LE(written, 8u);
    card.settle();
    while (d.poll_eq(view)) {
        ++written;
    }
    EXPECT_EQ(written, kCqs);
}

TEST_F(ModeratedCq, BusErrorOnTheRingTellsWhatWaits) {
    d.arm_cq(cq);
    complete();
    card.host.break_range(cq.ring, 4096);
    complete();
    EXPECT_EQ(events(), 1u);
    EXPECT_EQ(deadline(), kNever);
    card.host.break_range(cq.ring, 4096, false);
}

TEST_F(ModeratedCq, NothingIsLeftOfADestroyedQueueOrAfterAReset) {
    d.arm_cq(cq);
    complete();
    EXPECT_NE(deadline(), kNever);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_ETH, DINGO_ETH_TX << 24).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(deadline(), kNever);

    cq = d.create_cq(6);
    tx = d.create_eth(DINGO_ETH_TX, 0, cq, 10);
    moderate(0, 1000);
    d.arm_cq(cq);
    complete();
    EXPECT_NE(deadline(), kNever);
    card.engine->reset();
    EXPECT_EQ(deadline(), kNever);
    card.now += 10 * kPeriod;
    card.settle();
    EXPECT_EQ(events(), 0u);
}

}  // namespace
}  // namespace dingo::test
