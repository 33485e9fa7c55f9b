// SPDX-License-Identifier: BSD-2-Clause
//
// The admin queue: every command checks all its fields and names the first invalid one.
#include "admin_samples.h"
#include "conformance.h"

namespace dingo::conformance {
namespace {

struct Card : test::OneCard {
    explicit Card(const std::string& name) : OneCard(name) {
        driver.start();
        driver.set_ipv4(0, 0x0a4d0001);
        driver.enable_port();
    }
};

}  // namespace

CONFORMANCE_SUITE(AdminCommands);

TEST_P(AdminCommands, WellFormedSamplesAreTaken) {
    Card card(engine());
    for (const Sample& s : admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS)))
        EXPECT_EQ(card.driver.execute_raw(s.bytes).status, DINGO_ST_OK) << "opcode " << s.opcode;
}

TEST_P(AdminCommands, UnknownOpcodesAreRefused) {
    Card card(engine());
    const std::uint64_t errors = card.driver.card_stat(DINGO_CARD_ADMIN_ERRORS);
    unsigned refused = 0;
    for (std::uint32_t opcode : {4u, 0xfu, 0x13u, 0x22u, 0x34u, 0x44u, 0x58u, 0x64u, 0x73u, 0x80u,
                                 0xffu, 0x100u, 0x7fffu, 0xffffu}) {
        dingo_cmd_destroy cmd{};
        EXPECT_EQ(card.driver.execute(static_cast<std::uint16_t>(opcode), cmd).status,
                  DINGO_ST_BAD_OPCODE)
            << opcode;
        ++refused;
    }
    EXPECT_EQ(card.driver.card_stat(DINGO_CARD_ADMIN_ERRORS), errors + refused);
}

TEST_P(AdminCommands, EveryStrayByteBehindACommandIsNamed) {
    Card card(engine());
    for (const Sample& s : admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS))) {
        for (std::size_t at = s.size; at < DINGO_ADMIN_CMD_SIZE; at += 7) {
            std::vector<std::byte> bytes = s.bytes;
            bytes.resize(DINGO_ADMIN_CMD_SIZE);
            bytes[at] = std::byte{1};
            const auto completion = card.driver.execute_raw(bytes);
            EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD) << "opcode " << s.opcode;
            EXPECT_EQ(completion.detail, at) << "opcode " << s.opcode;
        }
    }
}

TEST_P(AdminCommands, NoBitOfACommandIsIgnored) {
    // With any bit flipped, a create command is refused, or has another effect that can be undone.
    Card card(engine());
    std::vector<Sample> list = admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS));
    for (const Sample& s : list)
        if (s.opcode == DINGO_OP_CREATE_CQ) {
            ASSERT_EQ(card.driver.execute_raw(s.bytes).status, DINGO_ST_OK);
        }
    for (const Sample& s : list) {
        if (s.opcode != DINGO_OP_CREATE_QP)
            continue;
        // Bytes 37..39, 78 and 79 are reserved, so are the levels' upper bits and rsvd of both mem.
        for (std::size_t at : {37u, 38u, 39u, 54u, 55u, 70u, 71u, 78u, 79u}) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                std::vector<std::byte> bytes = s.bytes;
                bytes[at] ^= static_cast<std::byte>(1u << bit);
                const auto completion = card.driver.execute_raw(bytes);
                EXPECT_EQ(completion.status, DINGO_ST_BAD_FIELD) << at << ":" << bit;
                EXPECT_LE(completion.detail, at);
                EXPECT_LE(at - completion.detail, 16u) << "the detail names another field";
            }
        }
    }
}

TEST_P(AdminCommands, ObjectsThatDoNotExist) {
    Card card(engine());
    const bool srq = (card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_SRQ) != 0;
    for (std::uint16_t opcode : {DINGO_OP_DESTROY_EQ, DINGO_OP_DESTROY_CQ, DINGO_OP_DESTROY_MR,
                                 DINGO_OP_DESTROY_QP, DINGO_OP_DESTROY_SRQ}) {
        if (opcode == DINGO_OP_DESTROY_SRQ && !srq)
            continue;
        for (std::uint32_t id : {77u, 0x00ffffffu, 0xffffffffu})
            EXPECT_EQ(card.driver.destroy(opcode, id).status, DINGO_ST_BAD_ID) << opcode;
    }
    dingo_cmd_query_qp query{};
    query.qpn = 0x10002;
    query.out_addr = card.host.alloc(4096);
    EXPECT_EQ(card.driver.execute(DINGO_OP_QUERY_QP, query).status, DINGO_ST_BAD_ID);
    dingo_cmd_modify_qp modify{};
    modify.qpn = 0x10002;
    EXPECT_EQ(card.driver.execute(DINGO_OP_MODIFY_QP, modify).status, DINGO_ST_BAD_ID);
}

TEST_P(AdminCommands, SameNumberTwiceIsInUse) {
    Card card(engine());
    for (const Sample& s : admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS))) {
        const bool creates = s.opcode == DINGO_OP_CREATE_EQ || s.opcode == DINGO_OP_CREATE_CQ ||
                             s.opcode == DINGO_OP_CREATE_MR || s.opcode == DINGO_OP_CREATE_QP ||
                             s.opcode == DINGO_OP_CREATE_SRQ;
        ASSERT_EQ(card.driver.execute_raw(s.bytes).status, DINGO_ST_OK) << s.opcode;
        if (creates) {
            EXPECT_EQ(card.driver.execute_raw(s.bytes).status, DINGO_ST_IN_USE) << s.opcode;
        }
    }
}

TEST_P(AdminCommands, ObjectsInUseAreBusy) {
    Card card(engine());
    test::Cq cq = card.driver.create_cq();
    const test::TestQp qp = card.driver.create_qp(cq, cq, {});
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_BUSY);
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_EQ, 1).status, DINGO_ST_BUSY);
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_CQ, cq.cqn).status, DINGO_ST_OK);
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_EQ, 1).status, DINGO_ST_OK);
}

TEST_P(AdminCommands, BusErrorsAreReportedAndSurvived) {
    Card card(engine());
    dingo_cmd_query_device cmd{};
    cmd.out_addr = 0x10;  // not mapped
    cmd.out_len = 128;
    cmd.out_addr = 8;
    EXPECT_EQ(card.driver.execute(DINGO_OP_QUERY_DEVICE, cmd).status, DINGO_ST_BUS_ERROR);
    dingo_cmd_create_cq cq{};
    cq.cqn = 3;
    cq.eqn = 1;
    cq.log_size = 9;
    cq.ring.addr = 0x7000;  // an unreadable page list
    cq.ring.levels = 1;
    cq.ring.page_shift = 12;
    EXPECT_EQ(card.driver.execute(DINGO_OP_CREATE_CQ, cq).status, DINGO_ST_BUS_ERROR);
    EXPECT_GE(card.driver.card_stat(DINGO_CARD_DMA_ERRORS), 2u);
    EXPECT_GT(card.driver.query_limits().max_qp, 0u);
}

TEST_P(AdminCommands, ShortBufferGetsTheBeginning) {
    Card card(engine());
    const std::uint64_t memory = card.host.alloc(4096);
    std::ranges::fill(card.host.bytes(memory, 256), std::byte{0xee});
    dingo_cmd_query_device cmd{};
    cmd.out_addr = memory;
    cmd.out_len = 16;
    EXPECT_EQ(card.driver.execute(DINGO_OP_QUERY_DEVICE, cmd).status, DINGO_ST_OK);
    EXPECT_EQ(card.host.load<std::uint8_t>(memory + 16), 0xee) << "written behind the buffer";
    EXPECT_EQ(card.host.load<std::uint32_t>(memory), card.driver.query_limits().max_qp);
}

TEST_P(AdminCommands, SeveralOutstandingCompleteInOrderWithTheirIds) {
    Card card(engine());
    for (unsigned round = 0; round < 20; ++round) {
        for (std::uint16_t i = 0; i < 15; ++i) {
            dingo_admin_hdr nop{};
            nop.opcode = DINGO_OP_NOP;
            nop.cmd_id = static_cast<std::uint16_t>(round * 100 + i);
            card.driver.submit_raw(std::as_bytes(std::span(&nop, 1)));
        }
        card.host.take_msix(0);
        card.driver.ring_admin();
        card.settle();
        for (std::uint16_t i = 0; i < 15; ++i) {
            const auto completion = card.driver.poll_admin();
            ASSERT_TRUE(completion);
            EXPECT_EQ(completion->cmd_id, round * 100 + i);
            EXPECT_EQ(completion->opcode, DINGO_OP_NOP);
            EXPECT_EQ(completion->status, DINGO_ST_OK);
        }
        EXPECT_FALSE(card.driver.poll_admin());
        EXPECT_EQ(card.host.take_msix(0), 15u) << "one message after each completion";
    }
}

TEST_P(AdminCommands, ResetForgetsEverything) {
    Card card(engine());
    for (const Sample& s : admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS)))
        ASSERT_EQ(card.driver.execute_raw(s.bytes).status, DINGO_ST_OK);
    const std::uint32_t resets = card.driver.read32(DINGO_REG_RESETS);
    card.driver.start();
    EXPECT_EQ(card.driver.read32(DINGO_REG_RESETS), resets + 1);
    EXPECT_EQ(card.driver.card_stat(DINGO_CARD_ADMIN_ERRORS), 0u);
    for (const Sample& s : admin_samples(card.host, card.driver.read64(DINGO_REG_CAPS)))
        EXPECT_EQ(card.driver.execute_raw(s.bytes).status, DINGO_ST_OK) << s.opcode;
}

TEST_P(AdminCommands, RegistersSayWhatTheContractSays) {
    Card card(engine());
    EXPECT_EQ(card.driver.read32(DINGO_REG_MAGIC), 0x4f474e44u);
    EXPECT_EQ(card.driver.read32(DINGO_REG_VERSION) >> 16, unsigned{DINGO_CONTRACT_MAJOR});
    EXPECT_NE(card.driver.read64(DINGO_REG_CAPS) & DINGO_CAP_RC, 0u);
    EXPECT_EQ(card.driver.read64(DINGO_REG_MAC), 0x024449000001u);
    EXPECT_GE(card.driver.read32(DINGO_REG_DB_PAGES), 16u);
    EXPECT_LE(card.driver.read32(DINGO_REG_VECTORS), unsigned{DINGO_MSIX_MAX});
    // Two halves are one 64-bit read.
    EXPECT_EQ(card.driver.read64(DINGO_REG_CAPS),
              card.driver.read32(DINGO_REG_CAPS) |
                  std::uint64_t{card.driver.read32(DINGO_REG_CAPS + 4)} << 32);
    const std::uint64_t dropped = card.driver.card_stat(DINGO_CARD_MMIO_DROPPED);
    card.driver.write32(DINGO_REG_MAGIC, 1);
    card.driver.write32(0x7f0, 1);
    EXPECT_EQ(card.driver.read32(0x7f0), 0u);
    EXPECT_EQ(card.driver.read32(DINGO_REG_MAGIC), 0x4f474e44u);
    EXPECT_EQ(card.driver.card_stat(DINGO_CARD_MMIO_DROPPED), dropped + 2);
}

}  // namespace dingo::conformance
