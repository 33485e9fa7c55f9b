// SPDX-License-Identifier: BSD-2-Clause
//
// Regions: page lists, page sizes, offsets, bounds, re-registration, keys.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(MemoryRegions);

TEST_P(MemoryRegions, PageListsOfBothLevelsAndOddOffsets) {
    for (unsigned levels : {1u, 2u}) {
        for (std::uint32_t offset : {0u, 1u, 4095u}) {
            Pair pair(engine());
            const std::size_t count = levels == 1 ? 20 : 600;  // 600 needs two leaves
            const auto pages = pair.cards.host(1).alloc_pages(count);
            const std::uint64_t length = count * 4096 - offset - 5;
            const dingo_mem mem = pair.driver(1).page_list(pages, levels, 12, offset);
            constexpr std::uint64_t kIova = 0x7000'0000'0123;
            const test::Mr mr = pair.driver(1).create_mr(mem, kIova, length, kAllAccess);
            // With two leaves, across their boundary.
            const std::uint64_t at = levels == 1 ? 4000 : 511 * 4096 + 1000;
            test::SendWr wr = pair.write(0, 0, 9000);
            wr.raddr = kIova + at;
            wr.rkey = mr.key;
            pair.fill(0, 0, 9000, offset + levels);
            ASSERT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
            for (std::uint32_t i = 0; i < 9000; ++i) {
                const std::uint64_t linear = offset + at + i;
                const auto byte = *pair.cards.host(1).at(pages[linear / 4096] + linear % 4096);
                ASSERT_EQ(byte, pair.bytes(0, i, 1)[0]) << "byte " << i;
            }
            test::SendWr back = pair.read(100'000, 0, 9000);
            back.raddr = kIova + at;
            back.rkey = mr.key;
            ASSERT_EQ(pair.complete(back).status, DINGO_WCS_SUCCESS);
            EXPECT_TRUE(std::ranges::equal(pair.bytes(0, 0, 9000), pair.bytes(0, 100'000, 9000)));
        }
    }
}

TEST_P(MemoryRegions, LastPageMayHoldOneByte) {
    for (const unsigned levels : {1u, 2u}) {
        Pair pair(engine());
        const auto pages = pair.cards.host(1).alloc_pages(3);
        const test::Mr mr = pair.driver(1).create_mr(
            pair.driver(1).page_list(pages, levels, 12, 100), 0, 2 * 4096 - 100 + 1, kAllAccess);
        test::SendWr wr = pair.write(0, 0, 2);
        wr.raddr = 2 * 4096 - 100 - 1;
        wr.rkey = mr.key;
        pair.fill(0, 0, 2, levels);
        ASSERT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(*pair.cards.host(1).at(pages[2]), pair.bytes(0, 1, 1)[0]);
    }
}

TEST_P(MemoryRegions, LargePages) {
    Pair pair(engine());
    const auto pages = pair.cards.host(1).alloc_pages(4, 2u << 20);
    const test::Mr mr =
        pair.driver(1).create_mr(pair.driver(1).page_list(pages, 1, 21), 0, 8u << 20, kAllAccess);
    test::SendWr wr = pair.write(0, 0, 8192);
    wr.raddr = (2u << 20) - 100;
    wr.rkey = mr.key;
    pair.fill(0, 0, 8192, 1);
    ASSERT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(pair.bytes(0, 0, 100),
                                   pair.cards.host(1).bytes(pages[0] + (2u << 20) - 100, 100)));
    EXPECT_TRUE(
        std::ranges::equal(pair.bytes(0, 100, 8092), pair.cards.host(1).bytes(pages[1], 8092)));
}

TEST_P(MemoryRegions, BoundsOfTheKeyAreExact) {
    struct Try {
        std::int64_t offset;
        std::uint32_t length;
        bool good;
    };
    for (const Try& t : {Try{0, 5000, true}, Try{0, 5001, false}, Try{-1, 1, false},
                         Try{4999, 1, true}, Try{5000, 1, false}, Try{1, 4999, true}}) {
        for (const std::uint8_t opcode : {DINGO_WR_WRITE, DINGO_WR_READ}) {
            Pair pair(engine());
            const test::Mr mr = pair.driver(1).create_mr(5000, kAllAccess, 1, 0x100000);
            test::SendWr wr = pair.rdma(opcode, 0, 0, t.length);
            wr.raddr = mr.iova + static_cast<std::uint64_t>(t.offset);
            wr.rkey = mr.key;
            EXPECT_EQ(pair.complete(wr).status,
                      t.good ? DINGO_WCS_SUCCESS : DINGO_WCS_REM_ACCESS_ERR)
                << t.offset << " + " << t.length;
        }
    }
}

TEST_P(MemoryRegions, EveryMissingRightIsRefused) {
    struct Try {
        std::uint8_t opcode;
        std::uint32_t right;
    };
    for (const Try& t :
         {Try{DINGO_WR_WRITE, DINGO_ACC_REMOTE_WRITE}, Try{DINGO_WR_READ, DINGO_ACC_REMOTE_READ},
          Try{DINGO_WR_FETCH_ADD, DINGO_ACC_REMOTE_ATOMIC}}) {
        Pair pair(engine());
        if (t.right == DINGO_ACC_REMOTE_ATOMIC &&
            (pair.driver(1).read64(DINGO_REG_CAPS) & DINGO_CAP_ATOMIC) == 0)
            continue;
        const test::Mr mr = pair.driver(1).create_mr(4096, kAllAccess & ~t.right);
        test::SendWr wr = pair.rdma(t.opcode, 0, 0, 8);
        wr.raddr = mr.iova;
        wr.rkey = mr.key;
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_REM_ACCESS_ERR);
        EXPECT_EQ(pair.cards.host(1).load<std::uint64_t>(mr.bus), 0u);
    }
}

TEST_P(MemoryRegions, RemoteRightsNeedLocalWrite) {
    Pair pair(engine());
    for (std::uint32_t right : {DINGO_ACC_REMOTE_WRITE, DINGO_ACC_REMOTE_ATOMIC}) {
        EXPECT_THROW(pair.driver(0).create_mr(4096, right), test::AdminError);
    }
    EXPECT_NO_THROW(pair.driver(0).create_mr(4096, DINGO_ACC_REMOTE_READ));
}

TEST_P(MemoryRegions, RegistrationOfNothingOrAcrossTheEndIsRefused) {
    Pair pair(engine());
    dingo_cmd_create_mr cmd{};
    cmd.key = 0x10001234;
    cmd.pdn = 1;
    cmd.access = kAllAccess;
    cmd.mem.addr = pair.cards.host(0).alloc(8192);
    cmd.iova = 0x1000;
    cmd.length = 0;
    EXPECT_EQ(pair.driver(0).execute(DINGO_OP_CREATE_MR, cmd).status, DINGO_ST_BAD_FIELD);
    cmd.length = 4096;
    cmd.iova = ~std::uint64_t{0} - 100;
    EXPECT_EQ(pair.driver(0).execute(DINGO_OP_CREATE_MR, cmd).status, DINGO_ST_BAD_FIELD);
    cmd.iova = ~std::uint64_t{0} - 4095;
    EXPECT_EQ(pair.driver(0).execute(DINGO_OP_CREATE_MR, cmd).status, DINGO_ST_OK);
}

TEST_P(MemoryRegions, OldTagIsDeadAfterReregistration) {
    Pair pair(engine());
    NEEDS(pair.driver(1), REREG_MR);
    dingo_cmd_create_mr cmd{};
    cmd.old_key = pair.mr[1].key;
    cmd.key = pair.mr[1].key ^ 0x55aa;
    cmd.pdn = 1;
    cmd.access = kAllAccess;
    cmd.mem.addr = pair.mr[1].bus;
    cmd.iova = 0x5000;
    cmd.length = 4096;
    pair.driver(1).execute_ok(DINGO_OP_REREG_MR, cmd);
    test::SendWr wr = pair.write(0, 0, 64);
    wr.raddr = 0x5000;
    wr.rkey = cmd.key;
    pair.fill(0, 0, 64, 1);
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 64));
    EXPECT_EQ(pair.complete(pair.write(0, 0, 64)).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_P(MemoryRegions, PhysicalKeysAreForPrivilegedQueuesOnly) {
    for (const bool privileged : {false, true}) {
        PairOptions options;
        options.connect.qp.flags = privileged ? DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK : 0;
        Pair pair(engine(), options);
        dingo_cmd_create_mr cmd{};
        cmd.key = 0x02001234;
        cmd.pdn = 1;
        cmd.access = kAllAccess;
        cmd.kind = DINGO_MRT_PHYS;
        cmd.length = ~std::uint64_t{0};
        pair.driver(0).execute_ok(DINGO_OP_CREATE_MR, cmd);
        test::SendWr wr = pair.write(0, 0, 64);
        wr.sges[0].addr = pair.mr[0].bus;
        wr.sges[0].lkey = cmd.key;
        EXPECT_EQ(pair.complete(wr).status,
                  privileged ? DINGO_WCS_SUCCESS : DINGO_WCS_LOC_PROT_ERR);
    }
}

TEST_P(MemoryRegions, FastRegistrationAndInvalidation) {
    PairOptions options;
    options.connect.qp.flags = DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
    Pair pair(engine(), options);
    NEEDS(pair.driver(0), FRWR);
    const test::Mr region = pair.driver(0).create_key(DINGO_MRT_FRWR, 16 << 12);
    const auto pages = pair.cards.host(0).alloc_pages(16);
    for (std::uint32_t round = 1; round <= 3; ++round) {
        test::SendWr reg;
        reg.opcode = DINGO_WR_REG_MR;
        reg.reg.iova = 0x1'0000'0000 * round;
        reg.reg.length = 40'000;
        reg.reg.pbl_addr = pair.driver(0).page_list(pages, 1, 12).addr;
        reg.reg.key = region.key + round;  // ib_inc_rkey() changes the low byte
        reg.reg.access = kAllAccess & ~std::uint32_t{DINGO_ACC_MW_BIND};
        reg.reg.page_shift = 12;
        reg.reg.offset = 100;
        EXPECT_EQ(pair.complete(reg).status, DINGO_WCS_SUCCESS);
        random_bytes(pair.cards.host(0).bytes(pages[0], 4096), round);
        test::SendWr wr = pair.write(0, 0, 3000);
        wr.sges[0].addr = reg.reg.iova;
        wr.sges[0].lkey = reg.reg.key;
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(std::ranges::equal(pair.cards.host(0).bytes(pages[0] + 100, 3000),
                                       pair.bytes(1, 0, 3000)));
        test::SendWr invalidate;
        invalidate.opcode = DINGO_WR_LOCAL_INV;
        invalidate.imm = reg.reg.key;
        EXPECT_EQ(pair.complete(invalidate).status, DINGO_WCS_SUCCESS);
    }
    test::SendWr stale = pair.write(0, 0, 8);
    stale.sges[0].lkey = region.key + 3;
    stale.sges[0].addr = 0x3'0000'0000;
    EXPECT_EQ(pair.complete(stale).status, DINGO_WCS_LOC_PROT_ERR);
}

}  // namespace dingo::conformance
