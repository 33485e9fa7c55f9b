// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <set>

#include "two_cards.h"

namespace dingo::test {
namespace {

dingo_admin_hdr nop(std::uint16_t id) {
    dingo_admin_hdr header{};
    header.opcode = DINGO_OP_NOP;
    header.cmd_id = id;
    return header;
}

TEST(AdminQueue, PhaseAlternatesOverManyPasses) {
    OneCard card;
    card.driver.reset();
    card.driver.start_admin(1);  // two entries: wraps at once
    for (std::uint16_t i = 0; i < 1000; ++i) {
        const auto header = nop(i);
        const auto completion = card.driver.execute_raw(std::as_bytes(std::span(&header, 1)));
        ASSERT_EQ(completion.cmd_id, i);
        ASSERT_EQ(completion.opcode, DINGO_OP_NOP);
        ASSERT_EQ(completion.status, DINGO_ST_OK + 0u);
    }
}

TEST(AdminQueue, OneRunDoesABoundedNumberOfCommands) {
    OneCard card;
    TestDriver& d = card.driver;
    d.reset();
    d.start_admin(8);
    for (int i = 0; i < 256; ++i) {
        const auto header = nop(1);
        d.submit_raw(std::as_bytes(std::span(&header, 1)));
    }
    d.ring_admin();
    EXPECT_TRUE(card.engine->run(card.now, 4));
    int done = 0;
    while (d.poll_admin()) {
        ++done;
    }
    EXPECT_GE(done, 1);
    EXPECT_LE(done, 4);
}

TEST(AdminQueue, OwnersFaultsHoldAndRefuseCommands) {
    AdminFaults faults;
    EngineConfig config;
    config.admin_faults = &faults;
    OneCard card("model", config);
    TestDriver& d = card.driver;
    d.start();
    const auto submit = [&] {
        const auto header = nop(1);
        d.submit_raw(std::as_bytes(std::span(&header, 1)));
        d.ring_admin();
        card.settle();
    };
    faults.refused.set(DINGO_OP_NOP);
    submit();
    EXPECT_EQ(d.poll_admin().value().status, DINGO_ST_BAD_STATE + 0u);
    faults.refused.reset();

    faults.held[DINGO_OP_NOP] = 5'000;
    submit();
    EXPECT_FALSE(d.poll_admin());
    EXPECT_EQ(faults.met, 1U);
    EXPECT_EQ(card.engine->next_deadline(), card.now + 5'000);
    card.now += 5'000;
    card.settle();
    EXPECT_EQ(d.poll_admin().value().status, DINGO_ST_OK + 0u);

    faults.held[DINGO_OP_NOP] = kNever;
    submit();
    EXPECT_EQ(card.engine->next_deadline(), kNever);
    card.now += 1'000'000'000'000;
    card.settle();
    EXPECT_FALSE(d.poll_admin());
    faults.held[DINGO_OP_NOP] = 0;
    card.settle();
    EXPECT_EQ(d.poll_admin().value().status, DINGO_ST_OK + 0u);
    EXPECT_EQ(faults.met, 2U);
}

TEST(AdminQueue, DoorbellBeyondTheRingIsDropped) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start(2);
    d.write32(DINGO_REG_ASQ_DB, d.read32(DINGO_REG_AQ_CTRL) + 1'000'000);
    d.write32(DINGO_REG_ASQ_DB, 0xFFFF'FFFF);
    card.settle();
    EXPECT_EQ(d.card_stat(DINGO_CARD_MMIO_DROPPED), 2u);
}

TEST(AdminQueue, RefusesMisalignedBasesAndBadDepths) {
    OneCard card;
    TestDriver& d = card.driver;
    const auto enable = [&](std::uint64_t asq, std::uint64_t acq, std::uint32_t ctrl) {
        d.write64(DINGO_REG_ASQ_BASE, asq);
        d.write64(DINGO_REG_ACQ_BASE, acq);
        d.write32(DINGO_REG_AQ_CTRL, ctrl);
        return (d.read32(DINGO_REG_AQ_CTRL) & DINGO_AQ_CTRL_ENABLE_MASK) != 0;
    };
    const std::uint64_t asq = card.host.alloc(1 << 15);
    const std::uint64_t acq = card.host.alloc(1 << 15);
    constexpr std::uint32_t on = DINGO_AQ_CTRL_ENABLE_MASK;
    EXPECT_FALSE(enable(asq + 64, acq, on | 4));
    EXPECT_FALSE(enable(asq, acq + 2048, on | 4));
    EXPECT_FALSE(enable(asq, acq, on | 0));
    EXPECT_FALSE(enable(asq, acq, on | 9));
    EXPECT_FALSE(enable(asq, acq, on | 4 | 0x100));
    EXPECT_TRUE(enable(asq, acq, on | 8));
    EXPECT_FALSE(enable(asq, acq, 8));
}

TEST(AdminQueue, EnablingAgainStartsAtIndexZeroWithPhaseOne) {
    OneCard card;
    TestDriver& d = card.driver;
    d.reset();
    d.start_admin(2);
    for (int i = 0; i < 5; ++i) {
        d.execute(DINGO_OP_DESTROY_EQ, dingo_cmd_destroy{});
    }
    d.start_admin(2);
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, 3).status, DINGO_ST_BAD_ID + 0u);
}

TEST(AdminQueue, CompletionRingBusErrorStopsTheCard) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start(4);
    d.write32(DINGO_REG_AQ_CTRL, 0);
    d.write64(DINGO_REG_ACQ_BASE, 0x7000);
    d.write32(DINGO_REG_AQ_CTRL, DINGO_AQ_CTRL_ENABLE_MASK | 4);
    d.write32(DINGO_REG_ASQ_DB, 1);
    card.settle();
    EXPECT_EQ(d.read32(DINGO_REG_FATAL), DINGO_FATAL_ADMIN_BUS + 0u);
}

TEST(AdminQueue, ReservedHeaderAndUnusedBytesAreRefusedWithTheirOffset) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start();
    struct {
        dingo_admin_hdr hdr;
        std::uint8_t rest[120];
    } command{};
    command.hdr.rsvd = 1;
    auto completion = d.execute(DINGO_OP_NOP, command);
    EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD + 0u);
    EXPECT_EQ(completion.detail, 4u);
    command.hdr.rsvd = 0;
    for (unsigned i = 0; i < 120; ++i) {
        command.rest[i] = 0x80;
        completion = d.execute(DINGO_OP_NOP, command);
        EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD + 0u);
        EXPECT_EQ(completion.detail, 8 + i);
        command.rest[i] = 0;
    }
    EXPECT_EQ(d.execute(DINGO_OP_NOP, command).status, DINGO_ST_OK + 0u);
}

}  // namespace
}  // namespace dingo::test
