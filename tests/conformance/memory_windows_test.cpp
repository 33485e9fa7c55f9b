// SPDX-License-Identifier: BSD-2-Clause
//
// Memory windows of both types.
#include "conformance.h"

namespace dingo::conformance {
namespace {

/// Binds a window on card 1 to [offset, offset + length) of its region; returns the completion.
dingo_cqe bind(Pair& pair, test::Mr& window, std::uint64_t offset, std::uint64_t length,
               std::uint32_t access, std::uint32_t key_step = 1) {
    test::SendWr wr;
    wr.opcode = DINGO_WR_BIND_MW;
    wr.bind.addr = pair.mr[1].iova + offset;
    wr.bind.length = length;
    wr.bind.mr_key = pair.mr[1].key;
    wr.bind.mw_key = window.key;
    wr.bind.new_key = window.key + key_step;
    wr.bind.access = access;
    pair.driver(1).post_send(pair.qp(1), wr);
    const dingo_cqe cqe = pair.wait(1);
    if (cqe.status == DINGO_WCS_SUCCESS) {
        window.key = wr.bind.new_key;
        window.iova = (access & DINGO_ACC_ZERO_BASED) != 0 ? 0 : wr.bind.addr;
    }
    return cqe;
}

test::SendWr through(Pair& pair, const test::Mr& window, std::uint64_t offset, std::uint32_t length,
                     std::uint8_t opcode = DINGO_WR_WRITE) {
    test::SendWr wr = pair.rdma(opcode, 0, 0, length);
    wr.raddr = window.iova + offset;
    wr.rkey = window.key;
    return wr;
}

constexpr std::uint32_t kReadWrite = DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_WRITE;

}  // namespace

CONFORMANCE_SUITE(MemoryWindows);

TEST_P(MemoryWindows, BothTypesGiveAccessToTheirRange) {
    for (const std::uint8_t kind : {DINGO_MRT_MW1, DINGO_MRT_MW2}) {
        Pair pair(engine());
        NEEDS(pair.driver(1), MW);
        test::Mr window = pair.driver(1).create_key(kind);
        EXPECT_EQ(bind(pair, window, 1000, 500, kReadWrite).status, DINGO_WCS_SUCCESS);
        pair.fill(0, 0, 500, kind);
        EXPECT_EQ(pair.complete(through(pair, window, 0, 500)).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 1000, 500));
        EXPECT_EQ(pair.complete(through(pair, window, 1, 500)).status, DINGO_WCS_REM_ACCESS_ERR);
    }
}

TEST_P(MemoryWindows, ZeroBasedAddressing) {
    Pair pair(engine());
    NEEDS(pair.driver(1), MW);
    test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW2);
    EXPECT_EQ(bind(pair, window, 4000, 200, kReadWrite | DINGO_ACC_ZERO_BASED).status,
              DINGO_WCS_SUCCESS);
    pair.fill(0, 0, 100, 1);
    EXPECT_EQ(pair.complete(through(pair, window, 100, 100)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 4100, 100));
}

TEST_P(MemoryWindows, RegionUnderAWindowIsBusy) {
    Pair pair(engine());
    NEEDS(pair.driver(1), MW);
    test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW1);
    EXPECT_EQ(bind(pair, window, 0, 64, kReadWrite).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, pair.mr[1].key).status, DINGO_ST_BUSY);
    EXPECT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, window.key).status, DINGO_ST_OK);
    EXPECT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, pair.mr[1].key).status, DINGO_ST_OK);
}

TEST_P(MemoryWindows, Type1MovesAndItsOldKeyIsDead) {
    Pair pair(engine());
    NEEDS(pair.driver(1), MW);
    test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW1);
    EXPECT_EQ(bind(pair, window, 0, 64, kReadWrite).status, DINGO_WCS_SUCCESS);
    const test::Mr old = window;
    EXPECT_EQ(bind(pair, window, 8192, 64, kReadWrite).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.complete(through(pair, window, 0, 64)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.complete(through(pair, old, 0, 64)).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_P(MemoryWindows, UnboundWindowGivesNothing) {
    Pair pair(engine());
    NEEDS(pair.driver(1), MW);
    test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW1);
    EXPECT_EQ(bind(pair, window, 0, 64, kReadWrite).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(bind(pair, window, 0, 0, kReadWrite).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.complete(through(pair, window, 0, 64)).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_P(MemoryWindows, BindingFailures) {
    struct Try {
        const char* what;
        std::uint64_t offset;
        std::uint64_t length;
        std::uint32_t access;
    };
    for (const Try& t : {Try{"beyond the region", (1u << 20) - 10, 11, kReadWrite},
                         Try{"local right", 0, 64, kReadWrite | DINGO_ACC_LOCAL_WRITE}}) {
        Pair pair(engine());
        NEEDS(pair.driver(1), MW);
        test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW2);
        EXPECT_EQ(bind(pair, window, t.offset, t.length, t.access).status, DINGO_WCS_MW_BIND_ERR)
            << t.what;
    }
}

TEST_P(MemoryWindows, RegionWithoutTheBindRight) {
    Pair pair(engine());
    NEEDS(pair.driver(1), MW);
    const test::Mr region =
        pair.driver(1).create_mr(4096, kAllAccess & ~std::uint32_t{DINGO_ACC_MW_BIND});
    const test::Mr kept = pair.mr[1];
    pair.mr[1] = region;
    test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW2);
    EXPECT_EQ(bind(pair, window, 0, 64, kReadWrite).status, DINGO_WCS_MW_BIND_ERR);
    pair.mr[1] = kept;
}

TEST_P(MemoryWindows, WindowForReadingNeedsNoWritableRegion) {
    for (const std::uint32_t right : {DINGO_ACC_REMOTE_READ, DINGO_ACC_REMOTE_WRITE}) {
        Pair pair(engine());
        NEEDS(pair.driver(1), MW);
        pair.mr[1] = pair.driver(1).create_mr(
            4096, DINGO_ACC_REMOTE_READ | std::uint32_t{DINGO_ACC_MW_BIND});
        test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW2);
        EXPECT_EQ(bind(pair, window, 0, 64, right).status,
                  right == DINGO_ACC_REMOTE_READ ? DINGO_WCS_SUCCESS : DINGO_WCS_MW_BIND_ERR);
    }
}

TEST_P(MemoryWindows, ResetOfTheQpUnbindsItsType2Windows) {
    Pair pair(engine());
    NEEDS(pair.driver(1), MW);
    test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW2);
    EXPECT_EQ(bind(pair, window, 0, 64, kReadWrite).status, DINGO_WCS_SUCCESS);
    pair.driver(1).to_state(pair.qp(1), DINGO_QPS_RESET);
    EXPECT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, pair.mr[1].key).status, DINGO_ST_OK);
}

TEST_P(MemoryWindows, NothingIsWrittenThroughAWindowBehindItsInvalidation) {
    constexpr std::uint32_t kMessage = 16384;
    constexpr unsigned kMessages = 24;
    for (const unsigned before : {0u, 3u, 10u}) {
        Pair pair(engine());
        NEEDS(pair.driver(1), MW);
        NEEDS(pair.driver(1), SEND_INV);
        test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW2);
        EXPECT_EQ(bind(pair, window, 0, kMessage * kMessages, kReadWrite).status,
                  DINGO_WCS_SUCCESS);
        pair.fill(0, 0, kMessage, 1);
        for (unsigned i = 0; i < kMessages; ++i)
            pair.post(through(pair, window, kMessage * i, kMessage));
        for (unsigned i = 0; i < before; ++i)
            pair.wait(0);
        test::SendWr invalidate;
        invalidate.opcode = DINGO_WR_LOCAL_INV;
        invalidate.imm = window.key;
        pair.driver(1).post_send(pair.qp(1), invalidate);
        EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
        const auto now = pair.bytes(1, 0, kMessage * kMessages);
        const std::vector<std::byte> then(now.begin(), now.end());
        pair.cards.run_for(1'000'000);
        EXPECT_TRUE(std::ranges::equal(then, pair.bytes(1, 0, kMessage * kMessages)));
    }
}

}  // namespace dingo::conformance
