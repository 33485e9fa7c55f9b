// SPDX-License-Identifier: BSD-2-Clause
//
// Asynchronous events, end to end.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Events);

/// Connects or disconnects the link of card 0 and lets the card handle it.
void set_link(Pair& pair, bool up) {
    pair.cards.card(0).engine->set_link(up);
    pair.cards.card(0).settle();
}

TEST_P(Events, WirePulledAndPlugged) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    EXPECT_EQ(pair.event(0), 0);
    set_link(pair, false);
    EXPECT_EQ(pair.event(0), DINGO_EV_PORT_DOWN);
    EXPECT_EQ(driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_LINK_UP_MASK, 0u);
    set_link(pair, true);
    const auto up = driver.poll_eq(driver.async_eq);
    ASSERT_TRUE(up);
    EXPECT_EQ(up->kind, DINGO_EV_PORT_UP);
    EXPECT_EQ(up->id, 1u);
    EXPECT_NE(driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_LINK_UP_MASK, 0u);
}

TEST_P(Events, FirstPacketInRtrSaysCommunicationEstablished) {
    test::TwoCards cards(engine(), engine());
    test::Cq cq0 = cards.driver(0).create_cq();
    test::Cq cq1 = cards.driver(1).create_cq();
    std::array<test::TestQp, 2> qp = {cards.driver(0).create_qp(cq0, cq0),
                                      cards.driver(1).create_qp(cq1, cq1)};
    for (unsigned i = 0; i < 2; ++i) {
        const auto path = cards.path_to(1 - i, qp[1 - i].qpn);
        cards.driver(i).to_init(qp[i], path);
        cards.driver(i).to_rtr(qp[i], path);
    }
    cards.driver(0).to_rts(qp[0], cards.path_to(1, qp[1].qpn));
    test::SendWr wr;
    wr.opcode = DINGO_WR_WRITE;
    wr.force_inline = true;
    cards.driver(0).post_send(qp[0], wr);
    EXPECT_EQ(cards.wait_cq(0, cq0).status, DINGO_WCS_SUCCESS);
    test::TestDriver& driver = cards.driver(1);
    std::uint8_t kind = 0;
    for (auto e = driver.poll_eq(driver.async_eq); e; e = driver.poll_eq(driver.async_eq))
        kind = e->kind;
    EXPECT_EQ(kind, DINGO_EV_COMM_EST);
}

TEST_P(Events, InterruptComesOncePerArmOfTheEq) {
    Pair pair(engine());
    test::TestHost& host = pair.cards.host(0);
    while (pair.event(0)) {
    }
    host.take_msix(0);
    set_link(pair, false);
    set_link(pair, true);
    EXPECT_EQ(host.take_msix(0), 1u) << "two events, one arming";
    EXPECT_EQ(pair.event(0), DINGO_EV_PORT_DOWN);
}

TEST_P(Events, ArmingAnEqWithWaitingEventsRaisesTheInterruptAtOnce) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    while (pair.event(0)) {
    }
    set_link(pair, false);
    set_link(pair, true);
    pair.cards.host(0).take_msix(0);
    driver.ring_eq(driver.async_eq);  // the consumer index shows that neither event was seen
    pair.cards.card(0).settle();
    EXPECT_EQ(pair.cards.host(0).take_msix(0), 1u);
}

TEST_P(Events, UnreadableAdminRingIsFatalUntilReset) {
    Pair pair(engine());
    test::TestDriver& driver = pair.driver(0);
    while (pair.event(0)) {
    }
    const std::uint64_t ring = driver.read64(DINGO_REG_ASQ_BASE);
    pair.cards.host(0).break_range(ring, 4096);
    // The test does not know the driver's producer index: any step forward makes the card read.
    bool fatal = false;
    for (std::uint32_t index = 1; index < 64 && !fatal; ++index) {
        driver.write32(DINGO_REG_ASQ_DB, index);
        pair.cards.settle(1'000'000);
        fatal = (driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_FATAL_MASK) != 0;
    }
    ASSERT_TRUE(fatal);
    EXPECT_EQ(driver.read32(DINGO_REG_FATAL), DINGO_FATAL_ADMIN_BUS);
    const auto event = driver.poll_eq(driver.async_eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_DEVICE_FATAL);
    EXPECT_EQ(event->data, DINGO_FATAL_ADMIN_BUS);
    pair.cards.host(0).break_range(ring, 4096, false);
    driver.start();
    EXPECT_EQ(driver.read32(DINGO_REG_STATUS) & DINGO_STATUS_FATAL_MASK, 0u);
    EXPECT_GT(driver.query_limits().max_qp, 0u);
}

}  // namespace dingo::conformance
