// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <array>

#include "two_cards.h"

namespace dingo::test {
namespace {

TEST(Registers, IdentifyTheCardAfterPowerOn) {
    OneCard card;
    TestDriver& d = card.driver;
    EXPECT_EQ(d.read32(DINGO_REG_MAGIC), 0x4F474E44u);
    EXPECT_EQ(d.read32(DINGO_REG_VERSION), DINGO_CONTRACT_MAJOR << 16 | DINGO_CONTRACT_MINOR);
    EXPECT_EQ(d.read64(DINGO_REG_MAGIC),
              std::uint64_t{DINGO_CONTRACT_MAJOR << 16 | DINGO_CONTRACT_MINOR} << 32 | 0x4F474E44u);
    EXPECT_EQ(d.read32(DINGO_REG_STATUS), DINGO_STATUS_READY_MASK + 0u);
    EXPECT_EQ(d.read32(DINGO_REG_RESETS), 0u);
    EXPECT_EQ(d.read64(DINGO_REG_MAC), EngineConfig{}.mac);
    EXPECT_EQ(d.read32(DINGO_REG_ENGINE), DINGO_ENGINE_MODEL + 0u);
    EXPECT_NE(d.read64(DINGO_REG_CAPS) & DINGO_CAP_ETH, 0u);
    EXPECT_EQ(d.read64(DINGO_REG_CAPS) & DINGO_CAP_DB_MEMORY, 0u);
    EXPECT_GE(d.read32(DINGO_REG_VECTORS), 2u);
    EXPECT_GE(d.read32(DINGO_REG_DB_PAGES), 2u);
}

TEST(Registers, MemoryDoorbellsAreACapability) {
    EngineConfig config;
    config.memory_doorbells = true;
    OneCard card("model", config);
    EXPECT_NE(card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_DB_MEMORY, 0u);
}

TEST(Registers, WhatIsWithheldIsNoCapabilityAndItsCommandsAreRefused) {
    EngineConfig config;
    config.withheld =
        DINGO_CAP_PAUSE_MR | DINGO_CAP_SRQ | DINGO_CAP_COMPUTE | DINGO_CAP_MCAST | DINGO_CAP_SHARES;
    OneCard card("model", config);
    TestDriver& d = card.driver;
    EXPECT_EQ(d.read64(DINGO_REG_CAPS) & config.withheld, 0u);
    EXPECT_NE(d.read64(DINGO_REG_CAPS) & DINGO_CAP_REREG_MR, 0u);
    EXPECT_EQ(d.read64(DINGO_REG_CAPS) & DINGO_CAP_COMPUTE_RX, 0u) << "no slot, no receive side";
    d.start();
    EXPECT_EQ(d.execute(DINGO_OP_PAUSE_MR, dingo_cmd_destroy{}).status, DINGO_ST_UNSUPPORTED + 0u);
    EXPECT_EQ(d.execute(DINGO_OP_CREATE_SRQ, dingo_cmd_create_srq{}).status,
              DINGO_ST_UNSUPPORTED + 0u);
    EXPECT_EQ(d.execute(DINGO_OP_SET_COMPUTE, dingo_cmd_set_compute{}).status,
              DINGO_ST_UNSUPPORTED + 0u);
    EXPECT_EQ(d.execute(DINGO_OP_QUERY_COMPUTE, dingo_cmd_query_compute{}).status,
              DINGO_ST_UNSUPPORTED + 0u);
    for (const std::uint16_t opcode : {DINGO_OP_ATTACH_MCAST, DINGO_OP_DETACH_MCAST}) {
        EXPECT_EQ(d.execute(opcode, dingo_cmd_mcast{}).status, DINGO_ST_UNSUPPORTED + 0u);
    }
    EXPECT_EQ(d.query_limits().max_mcast, 0u);
    dingo_cmd_create_qp qp{};
    qp.qpn = 0x10009;
    qp.kind = DINGO_QPT_RC;
    qp.srqn = DINGO_INVALID_ID;
    qp.log_rq_stride = 6;
    qp.sq.addr = qp.rq.addr = card.host.alloc(4096);
    qp.share = 1;
    const auto refused = d.execute(DINGO_OP_CREATE_QP, qp);
    EXPECT_EQ(refused.status, DINGO_ST_BAD_FIELD + 0u);
    EXPECT_EQ(refused.detail, offsetof(dingo_cmd_create_qp, share));
    EXPECT_EQ(d.execute(DINGO_OP_REREG_MR, dingo_cmd_create_mr{}).status, DINGO_ST_BAD_FIELD + 0u);
}

TEST(Registers, TheReceiveSideOfTheComputeSlotCanBeWithheld) {
    EngineConfig config;
    config.withheld = DINGO_CAP_COMPUTE_RX;
    OneCard card("model", config);
    TestDriver& d = card.driver;
    EXPECT_EQ(d.read64(DINGO_REG_CAPS) & DINGO_CAP_COMPUTE_RX, 0u);
    d.start();
    const Cq cq = d.create_cq();
    const TestQp qp = d.create_qp(cq, cq);
    EXPECT_EQ(d.set_compute(qp.qpn, DINGO_KERNEL_ADD_ONE).status, DINGO_ST_OK + 0u);
    const dingo_admin_cpl cpl =
        d.set_compute(qp.qpn, DINGO_KERNEL_ADD_ONE, 0, DINGO_COMPUTE_RECEIVE);
    EXPECT_EQ(cpl.status, DINGO_ST_BAD_FIELD + 0u);
    EXPECT_EQ(cpl.detail, offsetof(dingo_cmd_set_compute, direction));
}

TEST(Registers, SixtyFourBitRegistersTakeTwoHalves) {
    OneCard card;
    TestDriver& d = card.driver;
    d.write32(DINGO_REG_ASQ_BASE, 0x89ABC000);
    d.write32(DINGO_REG_ASQ_BASE + 4, 0x1234567);
    EXPECT_EQ(d.read64(DINGO_REG_ASQ_BASE), 0x123456789ABC000u);
    EXPECT_EQ(d.read32(DINGO_REG_ASQ_BASE + 4), 0x1234567u);
}

TEST(Registers, ClockIsTheTimeAndDoesNotTearBetweenHalves) {
    OneCard card;
    card.now = 0x1'FFFF'FFFF;
    card.settle();
    EXPECT_EQ(card.driver.read64(DINGO_REG_CLOCK), 0x1'FFFF'FFFFu);
    EXPECT_EQ(card.driver.read32(DINGO_REG_CLOCK), 0xFFFF'FFFFu);
    card.now += 1;
    card.settle();
    EXPECT_EQ(card.driver.read32(DINGO_REG_CLOCK + 4), 1u);
}

TEST(Registers, AllButTheClockCanBeToldInTheMiddle) {
    OneCard card;
    TestDriver& d = card.driver;
    constexpr std::array<std::uint32_t, 5> kSome = {
        DINGO_REG_MAGIC, DINGO_REG_VERSION, DINGO_REG_STATUS, DINGO_REG_RESETS, DINGO_REG_CAPS + 4};
    for (const std::uint32_t at : kSome) {
        EXPECT_EQ(card.engine->peek(Bar::kRegisters, at, 4), d.read32(at)) << at;
    }
    EXPECT_EQ(card.engine->peek(Bar::kRegisters, DINGO_REG_CAPS, 8), d.read64(DINGO_REG_CAPS));
    EXPECT_EQ(card.engine->peek(Bar::kRegisters, DINGO_REG_CLOCK, 8), std::nullopt);
    EXPECT_EQ(card.engine->peek(Bar::kRegisters, 2, 4), std::nullopt);
    EXPECT_EQ(card.engine->peek(Bar::kDoorbells, 0, 8), std::nullopt);
}

TEST(Registers, CardMemoryHasASizeAndCountersWhereItIs) {
    EXPECT_EQ(OneCard().driver.read64(DINGO_REG_MEM_SIZE), 0u);
    CardMemory memory;
    memory.size = DINGO_MEM_MIN_SIZE;
    memory.counted = true;
    EngineConfig config;
    config.memory = &memory;
    OneCard card("model", config);
    TestDriver& d = card.driver;
    EXPECT_NE(d.read64(DINGO_REG_CAPS) & DINGO_CAP_DEVICE_MEMORY, 0u);
    EXPECT_NE(d.read64(DINGO_REG_CAPS) & DINGO_CAP_MEM_COUNTS, 0u);
    EXPECT_EQ(d.read64(DINGO_REG_MEM_SIZE), std::uint64_t{DINGO_MEM_MIN_SIZE});
    d.start();
    memory.in_requests = 2;
    memory.in_bytes = 128;
    memory.out_requests = 3;
    memory.out_bytes = 12;
    EXPECT_EQ(d.card_stat(DINGO_CARD_MEM_IN_REQUESTS), 2u);
    EXPECT_EQ(d.card_stat(DINGO_CARD_MEM_IN_BYTES), 128u);
    EXPECT_EQ(d.card_stat(DINGO_CARD_MEM_OUT_REQUESTS), 3u);
    EXPECT_EQ(d.card_stat(DINGO_CARD_MEM_OUT_BYTES), 12u);

    config.withheld = DINGO_CAP_DEVICE_MEMORY;
    OneCard without("model", config);
    EXPECT_EQ(without.driver.read64(DINGO_REG_MEM_SIZE), 0u);
}

TEST(Registers, UndefinedAndReadOnlyWritesAreDroppedAndCounted) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start();
    const std::uint64_t before = d.card_stat(DINGO_CARD_MMIO_DROPPED);
    d.write32(DINGO_REG_MAGIC, 1);
    d.write32(0x1000, 1);
    d.write32(0xFFFC, 1);
    card.engine->mmio_write(Bar::kRegisters, DINGO_REG_CTRL, 1, 1);      // not 32-bit
    card.engine->mmio_write(Bar::kRegisters, DINGO_REG_CTRL + 2, 1, 4);  // not aligned
    card.engine->mmio_write(Bar::kMemory, 0, 1, 8);                      // no such BAR
    EXPECT_EQ(d.card_stat(DINGO_CARD_MMIO_DROPPED), before + 6);
    EXPECT_EQ(card.engine->mmio_read(Bar::kRegisters, 0x1000, 4), 0u);
    EXPECT_EQ(card.engine->mmio_read(Bar::kRegisters, 2, 2), 0u);
    EXPECT_EQ(card.engine->mmio_read(Bar::kMemory, 0, 8), 0u);
    EXPECT_EQ(d.read32(DINGO_REG_MAGIC), 0x4F474E44u);
}

TEST(Registers, KickPageTakesAnyWriteAndReadsZero) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start();
    d.write32(DINGO_KICK_PAGE_OFFSET + 0x20, 5);
    EXPECT_EQ(d.read32(DINGO_KICK_PAGE_OFFSET + 0x20), 0u);
    EXPECT_EQ(d.card_stat(DINGO_CARD_MMIO_DROPPED), 0u);
}

TEST(Registers, ResetForgetsEverythingButTheNumberOfResets) {
    OneCard card;
    TestDriver& d = card.driver;
    d.start();
    d.enable_port();
    EXPECT_NE(d.read32(DINGO_REG_STATUS) & DINGO_STATUS_LINK_UP_MASK, 0u);
    const std::uint32_t resets = d.read32(DINGO_REG_RESETS);
    d.write32(DINGO_REG_CTRL, DINGO_CTRL_RESET_MASK);
    EXPECT_EQ(d.read32(DINGO_REG_RESETS), resets + 1);
    EXPECT_EQ(d.read32(DINGO_REG_STATUS), DINGO_STATUS_READY_MASK + 0u);
    EXPECT_EQ(d.read32(DINGO_REG_AQ_CTRL), 0u);
    EXPECT_EQ(d.read64(DINGO_REG_ASQ_BASE), 0u);
    d.start();  // the EQ numbers are unused again
    EXPECT_EQ(d.card_stat(DINGO_CARD_ADMIN_ERRORS), 0u);
}

}  // namespace
}  // namespace dingo::test
