// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "two_cards.h"

namespace dingo::test {
namespace {

/// Link changes raise asynchronous events; Ethernet frames give completions.
class Events : public testing::Test {
  protected:
    Events() {
        d.start();
        d.enable_port();
        while (d.poll_eq(d.async_eq)) {
        }
        d.ring_eq(d.async_eq);
        card.host.take_msix(0);
        card.host.take_msix(1);
        card.host.take_msix(5);
    }
    void plug(bool up) {
        card.engine->set_link(up);
        card.settle();
    }
    /// Replaces the asynchronous EQ by one with few entries, on vector 5.
    Eq small_async_eq(unsigned log_size) {
        EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, 0).status, DINGO_ST_OK + 0u);
        return d.create_eq(7, 5, log_size, DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK);
    }

    OneCard card;
    TestDriver& d = card.driver;
};

TEST_F(Events, PortEventsFollowWireAndSwitch) {
    plug(false);
    auto event = d.poll_eq(d.async_eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_PORT_DOWN);
    EXPECT_EQ(event->id, 1u);
    EXPECT_EQ(event->data, 0u) << "this kind has none";
    EXPECT_EQ(card.host.take_msix(0), 1u);
    EXPECT_EQ(d.read32(DINGO_REG_STATUS) & DINGO_STATUS_LINK_UP_MASK, 0u);
    plug(false);  // no change, no event
    EXPECT_FALSE(d.poll_eq(d.async_eq));
    d.ring_eq(d.async_eq);
    plug(true);
    event = d.poll_eq(d.async_eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_PORT_UP);
    dingo_cmd_set_port cmd{};
    cmd.mtu = 1500;
    d.execute_ok(DINGO_OP_SET_PORT, cmd);  // disabled
    event = d.poll_eq(d.async_eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_PORT_DOWN);
}

TEST_F(Events, SettingThePortAgainIsNoEvent) {
    d.enable_port(2000);
    d.enable_port(1500, DINGO_CMD_SET_PORT_FLAGS_PROMISC_MASK);
    EXPECT_FALSE(d.poll_eq(d.async_eq));
}

TEST_F(Events, OneInterruptPerArming) {
    plug(false);
    EXPECT_EQ(card.host.take_msix(0), 1u);
    plug(true);
    plug(false);
    EXPECT_EQ(card.host.take_msix(0), 0u);  // not armed since
    ASSERT_TRUE(d.poll_eq(d.async_eq));
    d.ring_eq(d.async_eq);  // two more are queued
    EXPECT_EQ(card.host.take_msix(0), 1u);
    ASSERT_TRUE(d.poll_eq(d.async_eq));
    ASSERT_TRUE(d.poll_eq(d.async_eq));
    d.ring_eq(d.async_eq);
    EXPECT_EQ(card.host.take_msix(0), 0u);
    plug(true);
    EXPECT_EQ(card.host.take_msix(0), 1u);
}

TEST_F(Events, ConsumerWithoutArmingRaisesNothing) {
    plug(false);
    card.host.take_msix(0);
    d.ring_eq(d.async_eq, false);
    plug(true);
    EXPECT_EQ(card.host.take_msix(0), 0u);
}

TEST_F(Events, PhaseAlternatesThroughThousandsOfEntries) {
    for (int i = 0; i < 1500; ++i) {
        plug(i % 2 != 0);
        const auto event = d.poll_eq(d.async_eq);
        ASSERT_TRUE(event) << i;
        ASSERT_EQ(event->kind, i % 2 != 0 ? DINGO_EV_PORT_UP : DINGO_EV_PORT_DOWN);
        d.ring_eq(d.async_eq);
    }
    EXPECT_FALSE(d.poll_eq(d.async_eq));
}

TEST_F(Events, FullQueueMakesEventsWaitOncePerObjectAndKind) {
    Eq eq = small_async_eq(1);
    for (int i = 0; i < 20; ++i) {
        plug(i % 2 != 0);
    }
    EXPECT_EQ(d.card_stat(DINGO_CARD_EQ_OVERFLOW), 2u);  // one DOWN and one UP
    ASSERT_TRUE(d.poll_eq(eq));
    ASSERT_TRUE(d.poll_eq(eq));
    EXPECT_FALSE(d.poll_eq(eq));
    d.ring_eq(eq);
    EXPECT_EQ(card.host.take_msix(5), 1u);
    EXPECT_EQ(d.poll_eq(eq)->kind, DINGO_EV_PORT_DOWN);
    EXPECT_EQ(d.poll_eq(eq)->kind, DINGO_EV_PORT_UP);
    d.ring_eq(eq);
    plug(false);
    EXPECT_EQ(d.poll_eq(eq)->kind, DINGO_EV_PORT_DOWN);
}

TEST_F(Events, ImpossibleConsumerIndexIsDropped) {
    plug(false);
    Eq wrong = d.async_eq;
    wrong.consumer += 2;
    d.ring_eq(wrong);
    wrong.consumer = d.async_eq.consumer - 1;
    d.ring_eq(wrong);
    wrong.eqn = 99;
    d.ring_eq(wrong);
    EXPECT_EQ(d.card_stat(DINGO_CARD_DB_DROPPED), 3u);
    ASSERT_TRUE(d.poll_eq(d.async_eq));
}

TEST_F(Events, BrokenRingLosesEventsAndNothingElse) {
    card.host.break_range(d.async_eq.ring, 4096);
    plug(false);
    plug(true);
    EXPECT_EQ(d.card_stat(DINGO_CARD_DMA_ERRORS), 1u);
    EXPECT_EQ(d.read32(DINGO_REG_STATUS) & DINGO_STATUS_FATAL_MASK, 0u);
}

TEST_F(Events, AnEventThatWasLostIsNotThereToBeConsumed) {
    card.host.break_range(d.async_eq.ring, 4096);
    plug(false);
    card.host.take_msix(0);
    d.ring_eq(d.async_eq);
    EXPECT_EQ(card.host.take_msix(0), 0u) << "nothing is there to look at";
    Eq more = d.async_eq;
    ++more.consumer;
    d.ring_eq(more);
    EXPECT_EQ(d.card_stat(DINGO_CARD_DB_DROPPED), 1u);
}

TEST_F(Events, QueueOverAPageListOfBothLevels) {
    for (const unsigned levels : {1u, 2u}) {
        ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, levels == 1 ? 0 : 9).status, DINGO_ST_OK + 0u);
        const auto pages = card.host.alloc_pages(4);
        dingo_cmd_create_eq cmd{};
        cmd.eqn = 9;
        cmd.log_size = 10;
        cmd.flags = DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK;
        cmd.ring = d.page_list(pages, levels, 12);
        d.execute_ok(DINGO_OP_CREATE_EQ, cmd);
        for (std::uint32_t i = 0; i < 600; ++i) {
            plug(i % 2 != 0);
        }
        const auto at = [&](std::uint32_t index) {
            return card.host.load<dingo_eqe>(pages[index / 256] + index % 256 * 16);
        };
        EXPECT_EQ(at(255).owner, 1);
        EXPECT_EQ(at(256).kind, DINGO_EV_PORT_DOWN);
        EXPECT_EQ(at(599).kind, DINGO_EV_PORT_UP);
        EXPECT_EQ(at(600).owner, 0);
    }
}

}  // namespace
}  // namespace dingo::test
