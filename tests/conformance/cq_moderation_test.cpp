// SPDX-License-Identifier: BSD-2-Clause
//
// MODIFY_CQ: events delayed until more completions were written, or until a period has ended.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(CqModeration);

namespace {

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr std::uint16_t kLong = 60'000;  ///< microseconds, longer than any test

dingo_admin_cpl moderate(test::TestDriver& driver, std::uint32_t cqn, std::uint16_t count,
                         std::uint16_t period) {
    dingo_cmd_modify_cq cmd{};
    cmd.cqn = cqn;
    cmd.count = count;
    cmd.period = period;
    return driver.execute(DINGO_OP_MODIFY_CQ, cmd);
}

/// Returns the CQs of completion events since the last call, in order.
std::vector<std::uint32_t> told(test::TestDriver& driver) {
    std::vector<std::uint32_t> cqns;
    while (const auto event = driver.poll_eq(driver.comp_eq)) {
        EXPECT_EQ(event->kind, DINGO_EV_COMPLETION);
        cqns.push_back(event->id);
    }
    driver.ring_eq(driver.comp_eq);
    return cqns;
}

/// Two cards; the CQ of card 0 has moderation.
struct Moderated : Pair {
    Moderated(const std::string& engine, std::uint16_t count, std::uint16_t period,
              const PairOptions& options = {})
        : Pair(engine, options) {
        set(count, period);
    }
    void set(std::uint16_t count, std::uint16_t period, unsigned card = 0) {
        EXPECT_EQ(moderate(driver(card), cq(card).cqn, count, period).status, DINGO_ST_OK);
    }
    void arm() { driver(0).arm_cq(cq(0)); }
    /// Makes `count` completions, all polled.
    void writes(unsigned count) {
        for (unsigned i = 0; i < count; ++i)
            EXPECT_EQ(complete(write(0, 0, 8)).status, DINGO_WCS_SUCCESS);
    }
    void pass(unsigned microseconds) { cards.run_for(microseconds * kMicrosecond); }
    /// Returns the number of events of card 0.
    std::size_t events() { return told(driver(0)).size(); }
};

}  // namespace

TEST_P(CqModeration, EventComesWithTheLastOfTheCount) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 4, kLong);
    for (unsigned round = 0; round < 3; ++round) {
        pair.arm();
        pair.writes(3);
        EXPECT_EQ(pair.events(), 0u);
        pair.writes(1);
        EXPECT_EQ(pair.events(), 1u);
        pair.writes(9);
        EXPECT_EQ(pair.events(), 0u) << "it is not armed";
    }
}

TEST_P(CqModeration, EventComesAtTheEndOfThePeriodThatTheFirstBegins) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 100, 1000);
    for (unsigned round = 0; round < 3; ++round) {
        pair.arm();
        pair.pass(5000);
        EXPECT_EQ(pair.events(), 0u);
        pair.writes(1);
        pair.pass(500);
        pair.writes(1);
        pair.pass(400);
        EXPECT_EQ(pair.events(), 0u);
        pair.pass(100);
        EXPECT_EQ(pair.events(), 1u);
        pair.pass(5000);
        EXPECT_EQ(pair.events(), 0u);
    }
}

TEST_P(CqModeration, WithoutACountOnlyThePeriodEnds) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 0, 1000);
    pair.arm();
    pair.writes(50);
    EXPECT_EQ(pair.events(), 0u);
    pair.pass(1000);
    EXPECT_EQ(pair.events(), 1u);
}

TEST_P(CqModeration, WithoutAPeriodEventsComeAtOnce) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 100, 0);
    pair.arm();
    pair.writes(1);
    EXPECT_EQ(pair.events(), 1u);
    pair.set(100, kLong);
    pair.arm();
    pair.writes(1);
    EXPECT_EQ(pair.events(), 0u);
    pair.set(100, 0);
    EXPECT_EQ(pair.events(), 1u) << "the one that waited";
    pair.arm();
    pair.writes(1);
    EXPECT_EQ(pair.events(), 1u);
    pair.pass(2 * kLong);
    EXPECT_EQ(pair.events(), 0u);
}

TEST_P(CqModeration, ChangeCountsForTheEventThatWaits) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 8, kLong);
    pair.arm();
    pair.writes(2);
    pair.set(3, kLong);
    EXPECT_EQ(pair.events(), 0u);
    pair.writes(1);
    EXPECT_EQ(pair.events(), 1u);

    pair.arm();
    pair.writes(2);
    pair.set(2, kLong);
    EXPECT_EQ(pair.events(), 1u) << "so many are there";

    pair.arm();
    pair.writes(1);
    pair.pass(300);
    pair.set(0, 1000);
    pair.pass(600);
    EXPECT_EQ(pair.events(), 0u);
    pair.pass(100);
    EXPECT_EQ(pair.events(), 1u) << "from when the completion came";

    pair.arm();
    pair.writes(1);
    pair.pass(300);
    pair.set(0, 200);
    pair.pass(1);
    EXPECT_EQ(pair.events(), 1u) << "the shorter period is over";
}

TEST_P(CqModeration, WhatCameBeforeTheArmingWaitsToo) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 3, 1000);
    pair.post(pair.write(0, 0, 8));
    pair.pass(400);
    pair.arm();
    pair.pass(500);
    EXPECT_EQ(pair.events(), 0u);
    pair.pass(200);
    EXPECT_EQ(pair.events(), 1u) << "the period began with the completion";

    for (unsigned i = 0; i < 3; ++i)
        pair.post(pair.write(0, 0, 8));
    pair.pass(100);
    pair.arm();
    pair.pass(1);
    EXPECT_EQ(pair.events(), 1u) << "so many are there";
}

TEST_P(CqModeration, ArmingAgainWhileAnEventWaitsMakesNoSecond) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 3, 1000);
    pair.arm();
    pair.writes(1);
    pair.arm();
    pair.arm();
    pair.writes(2);
    EXPECT_EQ(pair.events(), 1u);
    pair.pass(5000);
    EXPECT_EQ(pair.events(), 0u);
}

TEST_P(CqModeration, SolicitedArmingWaitsForItsReasonFirst) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 0, 0);
    test::TestDriver& driver = pair.driver(1);
    pair.set(4, 1000, 1);
    test::SendWr solicited = pair.send(0, 8);
    solicited.flags |= DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK;
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < 8; ++i)
            pair.post_recv(i, 0, 64);
        driver.arm_cq(pair.cq(1), true);
        for (unsigned i = 0; i < 7; ++i) {
            pair.complete(pair.send(0, 8));
            pair.wait(1);
        }
        pair.pass(5000);
        EXPECT_EQ(told(driver).size(), 0u) << "nothing asks for an event";
        pair.complete(solicited);
        pair.wait(1);
        pair.pass(1000);
        EXPECT_EQ(told(driver).size(), 1u);
    }
    for (unsigned i = 0; i < 2; ++i)
        pair.post_recv(i, 0, 64);
    driver.arm_cq(pair.cq(1), true);
    pair.complete(solicited);
    pair.pass(500);
    EXPECT_EQ(told(driver).size(), 0u) << "it waits like another";
    pair.pass(500);
    EXPECT_EQ(told(driver).size(), 1u);
}

TEST_P(CqModeration, EventsOfManyQueuesComeInTheOrderOfTheirPeriods) {
    ENGINE_NEEDS(CQ_MODERATION);
    constexpr unsigned kCqs = 12;
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    std::vector<test::Cq> cqs;
    std::vector<std::uint32_t> expected;
    for (unsigned i = 0; i < kCqs; ++i) {
        test::Cq& cq = cqs.emplace_back(driver.create_cq(4));
        const auto rank = static_cast<std::uint16_t>(i * 5 % kCqs);
        EXPECT_EQ(moderate(driver, cq.cqn, 0, 1000 + 100 * rank).status, DINGO_ST_OK);
    }
    for (unsigned rank = 0; rank < kCqs; ++rank)
        for (unsigned i = 0; i < kCqs; ++i)
            if (i * 5 % kCqs == rank)
                expected.push_back(cqs[i].cqn);
    for (test::Cq& cq : cqs) {
        const test::TestQp qp = driver.create_qp(cq, cq);
        driver.to_init(qp, {});
        test::TestQp receiver = qp;
        driver.post_recv(receiver, 1, {});
        driver.arm_cq(cq);
        driver.to_state(qp, DINGO_QPS_ERR);
    }
    pair.cards.run_for(900 * kMicrosecond);
    EXPECT_TRUE(told(driver).empty());
    pair.cards.run_for(2000 * kMicrosecond);
    EXPECT_EQ(told(driver), expected);
}

TEST_P(CqModeration, QueueThatOverflowsTellsAtOnceWhatItHas) {
    ENGINE_NEEDS(CQ_MODERATION);
    PairOptions options;
    options.connect.log_cq = 2;
    Moderated pair(engine(), 100, kLong, options);
    pair.arm();
    for (unsigned i = 0; i < 6; ++i)
        pair.post(pair.write(0, 0, 8));
    pair.pass(100);
    EXPECT_EQ(pair.events(), 1u);
    EXPECT_EQ(pair.event(0), DINGO_EV_CQ_ERR);
    pair.pass(2 * kLong);
    EXPECT_EQ(pair.events(), 0u);
}

TEST_P(CqModeration, ResizingKeepsItAndWhatWaits) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 4, kLong);
    NEEDS(pair.driver(0), RESIZE_CQ);
    const auto resize = [&](unsigned log_size) {
        dingo_cmd_create_cq cmd{};
        cmd.cqn = pair.cq(0).cqn;
        cmd.log_size = static_cast<std::uint8_t>(log_size);
        cmd.ring.addr = pair.cards.host(0).alloc(std::uint64_t{DINGO_CQE_SIZE} << log_size);
        pair.driver(0).execute_ok(DINGO_OP_RESIZE_CQ, cmd);
        pair.cq(0).ring = cmd.ring.addr;
        pair.cq(0).log_size = log_size;
        pair.cq(0).consumer = pair.cq(0).rung = 0;
    };
    pair.writes(5);
    pair.arm();
    pair.writes(2);
    resize(5);
    pair.writes(1);
    EXPECT_EQ(pair.events(), 0u);
    pair.writes(1);
    EXPECT_EQ(pair.events(), 1u);
    pair.arm();
    resize(6);
    pair.writes(3);
    EXPECT_EQ(pair.events(), 0u);
    pair.writes(1);
    EXPECT_EQ(pair.events(), 1u);
}

TEST_P(CqModeration, DestroyedQueueTellsNothingAndLeavesNothing) {
    ENGINE_NEEDS(CQ_MODERATION);
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    dingo_cmd_create_cq cmd{};
    cmd.cqn = 200;
    cmd.eqn = 1;
    cmd.db_page = 1;
    cmd.log_size = 4;
    for (unsigned round = 0; round < 2; ++round) {
        cmd.ring.addr = pair.cards.host(0).alloc(4096);
        driver.execute_ok(DINGO_OP_CREATE_CQ, cmd);
        test::Cq cq;
        cq.cqn = cmd.cqn;
        cq.ring = cmd.ring.addr;
        cq.log_size = cmd.log_size;
        cq.db_page = cmd.db_page;
        if (round == 0) {
            EXPECT_EQ(moderate(driver, cq.cqn, 0, 1000).status, DINGO_ST_OK);
        }
        test::TestQp qp = driver.create_qp(cq, cq);
        driver.to_init(qp, {});
        driver.post_recv(qp, 1, {});
        driver.arm_cq(cq);
        driver.to_state(qp, DINGO_QPS_ERR);
        pair.cards.run_for(100 * kMicrosecond);
        EXPECT_EQ(told(driver).size(), round) << "a new one has no moderation";
        EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
        EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_OK);
    }
    pair.cards.run_for(5000 * kMicrosecond);
    EXPECT_TRUE(told(driver).empty());
}

TEST_P(CqModeration, ResetForgetsWhatWaits) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 0, 1000);
    pair.arm();
    pair.writes(1);
    pair.driver(0).start();
    pair.pass(5000);
    EXPECT_EQ(pair.events(), 0u);
    EXPECT_EQ(moderate(pair.driver(0), pair.cq(0).cqn, 0, 1000).status, DINGO_ST_BAD_ID);
}

TEST_P(CqModeration, BadCommandsChangeNothing) {
    ENGINE_NEEDS(CQ_MODERATION);
    Moderated pair(engine(), 2, kLong);
    EXPECT_EQ(moderate(pair.driver(0), 77, 0, 0).status, DINGO_ST_BAD_ID);
    EXPECT_EQ(moderate(pair.driver(0), 0xffffffff, 0, 0).status, DINGO_ST_BAD_ID);
    for (unsigned byte = 0; byte < 8; ++byte) {
        dingo_cmd_modify_cq cmd{};
        cmd.cqn = pair.cq(0).cqn;
        cmd.rsvd = std::uint64_t{1} << 8 * byte;
        const auto completion = pair.driver(0).execute(DINGO_OP_MODIFY_CQ, cmd);
        EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD);
        EXPECT_EQ(completion.detail, offsetof(dingo_cmd_modify_cq, rsvd));
    }
    pair.arm();
    pair.writes(1);
    EXPECT_EQ(pair.events(), 0u);
    pair.writes(1);
    EXPECT_EQ(pair.events(), 1u);
}

TEST_P(CqModeration, CardWithoutItRefusesTheCommand) {
    EngineConfig config;
    config.withheld = DINGO_CAP_CQ_MODERATION;
    test::OneCard card(engine(), config);
    card.driver.start();
    EXPECT_EQ(card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_CQ_MODERATION, 0u);
    const test::Cq cq = card.driver.create_cq();
    EXPECT_EQ(moderate(card.driver, cq.cqn, 4, 4).status, DINGO_ST_UNSUPPORTED);
}

}  // namespace dingo::conformance
