// SPDX-License-Identifier: BSD-2-Clause
//
// CQs, driven by the Ethernet function: a valid frame gives an ordinary completion, an invalid one
// an error completion, which counts as solicited for arming.
#include <gtest/gtest.h>

#include "two_cards.h"

namespace dingo::test {
namespace {

class Completions : public testing::Test {
  protected:
    Completions() {
        d.start();
        d.enable_port();
        frame = card.host.alloc(4096);
        use(8);
    }
    void use(unsigned log_cq) {
        cq = d.create_cq(log_cq);
        tx = d.create_eth(DINGO_ETH_TX, next_ring++, cq, 10);
        while (d.poll_eq(d.comp_eq)) {
        }
        d.ring_eq(d.comp_eq);
    }
    void complete(unsigned count = 1, bool error = false) {
        for (unsigned i = 0; i < count; ++i) {
            d.post_eth(tx, frame, error ? 13 : 64, DINGO_ETH_DESC_FLAGS_EOP_MASK);
        }
        card.settle();
    }
    unsigned events() {
        unsigned count = 0;
        while (const auto event = d.poll_eq(d.comp_eq)) {
            EXPECT_EQ(event->kind, DINGO_EV_COMPLETION);
            EXPECT_EQ(event->id, cq.cqn);
            ++count;
        }
        d.ring_eq(d.comp_eq);
        return count;
    }
    void drain() {
        while (d.poll_cq(cq)) {
        }
    }

    OneCard card;
    TestDriver& d = card.driver;
    Cq cq;
    EthRing tx;
    std::uint64_t frame = 0;
    std::uint8_t next_ring = 0;
};

TEST_F(Completions, PhaseAlternatesAndTimeStampsAreTheClock) {
    for (std::uint32_t i = 0; i < 2000; ++i) {
        card.now += 12345;
        complete();
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry) << i;
        EXPECT_EQ(entry->wqe_index, i);
        EXPECT_EQ(cqe_opcode(*entry), DINGO_WC_ETH_TX);
        EXPECT_EQ(entry->ts_lo | std::uint64_t{entry->ts_hi} << 32, card.now);
    }
    EXPECT_FALSE(d.poll_cq(cq));
}

TEST_F(Completions, SameSequenceNumberDoesNotArm) {
    d.arm_cq(cq);
    complete();
    EXPECT_EQ(events(), 1u);
    drain();
    d.ring_cq(cq);  // a plain consumer update
    complete();
    EXPECT_EQ(events(), 0u);
}

TEST_F(Completions, SolicitedArmingWaitsForErrorsOrSolicitedEntries) {
    d.arm_cq(cq, true);
    complete(3);
    EXPECT_EQ(events(), 0u);
    complete(1, true);
    EXPECT_EQ(events(), 1u);
    complete(1, true);
    drain();
    d.arm_cq(cq, true);
    complete(1);
    EXPECT_EQ(events(), 0u);  // no solicited entry is queued
    d.arm_cq(cq, false);      // arming for any takes precedence, and an entry is queued
    EXPECT_EQ(events(), 1u);
}

TEST_F(Completions, ArmingForAnyIsNotWeakenedByArmingForSolicited) {
    d.arm_cq(cq, false);
    d.arm_cq(cq, true);
    complete(1);
    EXPECT_EQ(events(), 1u);
}

TEST_F(Completions, SolicitedArmingSeesAnUnseenError) {
    complete(1, true);
    d.arm_cq(cq, true);
    EXPECT_EQ(events(), 1u);
}

TEST_F(Completions, SolicitedArmingSeesNothingThatWasConsumed) {
    complete(1, true);
    complete(1);
    drain();
    d.arm_cq(cq, true);
    EXPECT_EQ(events(), 0u);
    complete(1, true);
    EXPECT_EQ(events(), 1u);
}

TEST_F(Completions, ConsumerBeyondTheProducerIsDropped) {
    complete(2);
    Cq wrong = cq;
    wrong.consumer = 3;
    d.ring_cq(wrong);
    wrong.consumer = 0xFFFF'FFFF;
    d.ring_cq(wrong);
    EXPECT_EQ(d.card_stat(DINGO_CARD_DB_DROPPED), 2u);
}

TEST_F(Completions, ForeignPageCannotRing) {
    complete(1);
    d.poll_cq(cq);
    Cq wrong = cq;
    wrong.db_page = 2;
    d.arm_cq(wrong);
    EXPECT_EQ(d.card_stat(DINGO_CARD_DB_DROPPED), 1u);
    complete(1);
    EXPECT_EQ(events(), 0u);
}

TEST_F(Completions, BusErrorOnTheRingIsACqError) {
    card.host.break_range(cq.ring, 4096);
    complete(1);
    EXPECT_EQ(d.card_stat(DINGO_CARD_DMA_ERRORS), 1u);
    EXPECT_EQ(d.card_stat(DINGO_CARD_CQ_OVERFLOW), 0u);
    auto event = d.poll_eq(d.async_eq);
    while (event && event->kind != DINGO_EV_CQ_ERR) {
        event = d.poll_eq(d.async_eq);
    }
    EXPECT_TRUE(event);
}

TEST_F(Completions, ResizeKeepsTheQueueArmed) {
    d.arm_cq(cq);
    dingo_cmd_create_cq cmd{};
    cmd.cqn = cq.cqn;
    cmd.log_size = 3;
    cmd.ring.addr = card.host.alloc(4096);
    d.execute_ok(DINGO_OP_RESIZE_CQ, cmd);
    complete();
    EXPECT_EQ(events(), 1u);
}

TEST_F(Completions, FailedResizeChangesNothing) {
    complete(1);
    dingo_cmd_create_cq cmd{};
    cmd.cqn = cq.cqn;
    cmd.log_size = 3;
    cmd.ring.levels = 1;
    cmd.ring.page_shift = 12;
    cmd.ring.addr = 0x8000;
    EXPECT_EQ(d.execute(DINGO_OP_RESIZE_CQ, cmd).status, DINGO_ST_BUS_ERROR + 0u);
    complete(1);
    EXPECT_TRUE(d.poll_cq(cq));
    EXPECT_TRUE(d.poll_cq(cq));
}

TEST_F(Completions, DestroyedQueueMakesNoEventAnyMore) {
    // An EQ of one entry, full, so that the CQ's event is queued in the card.
    Eq eq = d.create_eq(20, 3, 0);
    dingo_cmd_create_cq cmd{};
    std::uint32_t cqns[2] = {500, 501};
    EthRing rings[2];
    for (int i = 0; i < 2; ++i) {
        cmd.cqn = cqns[i];
        cmd.eqn = 20;
        cmd.db_page = 1;
        cmd.log_size = 4;
        cmd.ring.addr = card.host.alloc(4096);
        d.execute_ok(DINGO_OP_CREATE_CQ, cmd);
        Cq made{cqns[i], cmd.ring.addr, 4, 1, 0, 0, 0};
        rings[i] = d.create_eth(DINGO_ETH_TX, static_cast<std::uint8_t>(1 + i), made);
        d.arm_cq(made);
        d.post_eth(rings[i], frame, 64, DINGO_ETH_DESC_FLAGS_EOP_MASK);
        card.settle();
    }
    d.destroy(DINGO_OP_DESTROY_ETH, DINGO_ETH_TX << 24 | 2);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_CQ, 501).status, DINGO_ST_OK + 0u);
    EXPECT_EQ(d.poll_eq(eq)->id, 500u);
    d.ring_eq(eq);
    EXPECT_FALSE(d.poll_eq(eq));
}

}  // namespace
}  // namespace dingo::test
