// SPDX-License-Identifier: BSD-2-Clause
//
// Errors end to end: correct status on both sides, one completion per request, nothing afterwards.
#include <algorithm>

#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(ErrorsAndFlush);

TEST_P(ErrorsAndFlush, WrongRemoteKeyFailsBothSides) {
    Pair pair(engine());
    test::SendWr wr = pair.write(0, 0, 64);
    wr.rkey ^= 0x4000;
    pair.fill(0, 0, 64, 1);
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_REM_ACCESS_ERR);
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
    EXPECT_EQ(pair.state(1), DINGO_QPS_ERR);
    EXPECT_EQ(pair.event(1), DINGO_EV_QP_ACCESS_ERR);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS), 1u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_REQ_REMOTE_ACCESS_ERRORS), 1u);
    EXPECT_TRUE(
        std::ranges::all_of(pair.bytes(1, 0, 64), [](std::byte b) { return b == std::byte{}; }));
}

TEST_P(ErrorsAndFlush, EveryDepthOfPostedWorkIsFlushedOnceAndInOrder) {
    for (unsigned depth : {0u, 1u, 7u, 32u, 64u}) {
        Pair pair(engine());
        std::vector<std::uint32_t> sends;
        for (unsigned i = 0; i < depth; ++i) {
            test::SendWr wr = pair.write(0, 0, 8);
            wr.flags = i % 2 == 0 ? kSignaled : 0;
            sends.push_back(pair.driver(0).post_send(pair.qp(0), wr, false));
            pair.driver(0).post_recv(pair.qp(0), 500 + i, {});
        }
        pair.driver(0).ring_sq(pair.qp(0));
        pair.driver(0).to_state(pair.qp(0), DINGO_QPS_ERR);
        pair.cards.settle();
        unsigned send = 0;
        unsigned recv = 0;
        for (unsigned i = 0; i < 2 * depth; ++i) {
            const dingo_cqe cqe = pair.wait(0);
            EXPECT_EQ(cqe.status, DINGO_WCS_WR_FLUSH_ERR);
            if (test::cqe_opcode(cqe) < DINGO_WC_RECV)
                EXPECT_EQ(cqe.wqe_index, sends.at(send++));
            else
                EXPECT_EQ(cqe.wqe_index, 500 + recv++);
        }
        EXPECT_EQ(send, depth);
        EXPECT_EQ(recv, depth);
        pair.cards.settle();
        EXPECT_TRUE(pair.idle(0)) << "a request completed twice";
    }
}

TEST_P(ErrorsAndFlush, DestroyWithWorkInFlightIsSilentAfterwards) {
    Pair pair(engine());
    pair.fill(0, 0, 200'000, 1);
    for (unsigned i = 0; i < 8; ++i)
        pair.post(pair.write(0, 0, 100'000));
    pair.cards.run_for(2'500);
    EXPECT_EQ(pair.driver(0).destroy(DINGO_OP_DESTROY_QP, pair.qp(0).qpn).status, DINGO_ST_OK);
    while (pair.driver(0).poll_cq(pair.cq(0))) {
    }
    bool touched = false;
    pair.cards.host(0).on_write = [&](std::uint64_t addr, std::span<const std::byte>) {
        touched |= addr >= pair.cq(0).ring && addr < pair.cq(0).ring + (32u << pair.cq(0).log_size);
        touched |= addr >= pair.mr[0].bus && addr < pair.mr[0].bus + pair.mr[0].length;
    };
    pair.cards.settle();
    EXPECT_FALSE(touched) << "DMA of a QP after DESTROY_QP had completed";
    EXPECT_TRUE(pair.idle(0));
    EXPECT_EQ(pair.state(1), DINGO_QPS_RTS);
}

TEST_P(ErrorsAndFlush, DestroyedRegionIsNotTouchedAnyMore) {
    Pair pair(engine());
    for (unsigned i = 0; i < 8; ++i)
        pair.post(pair.write(0, 0, 100'000));
    pair.cards.run_for(2'500);
    EXPECT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, pair.mr[1].key).status, DINGO_ST_OK);
    bool touched = false;
    pair.cards.host(1).on_write = [&](std::uint64_t addr, std::span<const std::byte>) {
        touched |= addr >= pair.mr[1].bus && addr < pair.mr[1].bus + pair.mr[1].length;
    };
    pair.cards.host(1).pointers = false;
    bool failed = false;
    for (unsigned i = 0; i < 8; ++i)
        failed |= pair.wait().status != DINGO_WCS_SUCCESS;
    EXPECT_TRUE(failed);
    EXPECT_FALSE(touched) << "a write through a key that was destroyed";
}

TEST_P(ErrorsAndFlush, ErrorOfOneQpLeavesTheOthersAlone) {
    Pair pair(engine());
    auto other = pair.cards.connect();
    test::SendWr bad = pair.write(0, 0, 64);
    bad.rkey ^= 0x4000;
    EXPECT_EQ(pair.complete(bad).status, DINGO_WCS_REM_ACCESS_ERR);
    pair.fill(0, 0, 5000, 3);
    pair.driver(0).post_send(other.qp[0], pair.write(0, 0, 5000));
    EXPECT_EQ(pair.cards.wait_cq(0, other.cq[0]).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 5000));
}

TEST_P(ErrorsAndFlush, UnsignaledErrorCompletes) {
    Pair pair(engine());
    test::SendWr bad = pair.write(0, 0, 64);
    bad.rkey ^= 0x4000;
    bad.flags = 0;
    const std::uint32_t index = pair.post(bad);
    const dingo_cqe cqe = pair.wait();
    EXPECT_EQ(cqe.status, DINGO_WCS_REM_ACCESS_ERR);
    EXPECT_EQ(cqe.wqe_index, index);
    EXPECT_TRUE(pair.idle(0));
}

TEST_P(ErrorsAndFlush, BusErrorOnPayloadIsALocalError) {
    Pair pair(engine());
    pair.cards.host(0).break_range(pair.mr[0].bus, 4096);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 64)).status, DINGO_WCS_LOC_PROT_ERR);
    EXPECT_EQ(pair.state(1), DINGO_QPS_RTS);
    EXPECT_GE(pair.stat(0, DINGO_CARD_DMA_ERRORS), 1u);
}

TEST_P(ErrorsAndFlush, BusErrorAtTheResponderIsAnOperationalError) {
    Pair pair(engine());
    pair.cards.host(1).break_range(pair.mr[1].bus, 4096);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 64)).status, DINGO_WCS_REM_OP_ERR);
    EXPECT_EQ(pair.state(1), DINGO_QPS_ERR);
}

TEST_P(ErrorsAndFlush, MalformedWorkRequestsAreRefused) {
    struct Bad {
        const char* what;
        std::function<void(dingo_wqe_ctrl&)> change;
        std::uint8_t vendor_err;
    };
    const Bad cases[] = {
        {"opcode", [](auto& c) { c.opcode = 0x77; }, DINGO_VERR_WQE_OPCODE},
        {"no blocks", [](auto& c) { c.blocks = 0; }, DINGO_VERR_WQE_SIZE},
        {"too many blocks", [](auto& c) { c.blocks = 9; }, DINGO_VERR_WQE_SIZE},
        {"too many entries", [](auto& c) { c.num_sge = 16; }, DINGO_VERR_WQE_SIZE},
        {"too many entries, all within the blocks",
         [](auto& c) {
             c.blocks = 8;
             c.num_sge = 16;
         },
         DINGO_VERR_WQE_SIZE},
        {"entries beyond the blocks", [](auto& c) { c.num_sge = 5; }, DINGO_VERR_WQE_SIZE},
        {"inline too long",
         [](auto& c) {
             c.flags |= DINGO_WQE_CTRL_FLAGS_INLINE_MASK;
             c.num_sge = 0;
             c.inline_len = 481;
         },
         DINGO_VERR_WQE_SIZE},
        {"reserved field", [](auto& c) { c.rsvd1 = 1; }, DINGO_VERR_WQE_RESERVED},
        {"reserved flag", [](auto& c) { c.flags |= 0x80; }, DINGO_VERR_WQE_RESERVED},
    };
    for (const Bad& bad : cases) {
        Pair pair(engine());
        std::vector<std::byte> blocks = test::encode(pair.write(0, 0, 8), false);
        dingo_wqe_ctrl ctrl;
        std::memcpy(&ctrl, blocks.data(), sizeof ctrl);
        bad.change(ctrl);
        std::memcpy(blocks.data(), &ctrl, sizeof ctrl);
        if (ctrl.blocks == DINGO_SQ_MAX_BLOCKS)
            blocks.resize(std::size_t{DINGO_SQ_MAX_BLOCKS} * DINGO_SQ_BLOCK);
        pair.driver(0).post_blocks(pair.qp(0), blocks);
        const dingo_cqe cqe = pair.wait();
        EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR) << bad.what;
        EXPECT_EQ(cqe.vendor_err, bad.vendor_err) << bad.what;
        EXPECT_EQ(pair.state(0), DINGO_QPS_ERR) << bad.what;
        EXPECT_EQ(pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS), 0u) << bad.what;
    }
}

TEST_P(ErrorsAndFlush, SendQueueThatCannotBeReadFails) {
    Pair pair(engine());
    pair.cards.host(0).break_range(pair.qp(0).sq, 4096);
    pair.driver(0).doorbell(
        pair.qp(0).db_page,
        DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SQ) | pair.qp(0).qpn, 1);
    const dingo_cqe cqe = pair.wait();
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_WQE_FETCH);
}

TEST_P(ErrorsAndFlush, ResetUnderLoadLeavesACleanCard) {
    Pair pair(engine());
    for (unsigned i = 0; i < 8; ++i)
        pair.post(pair.write(0, 0, 100'000));
    pair.cards.run_for(2'500);
    const std::uint32_t resets = pair.driver(0).read32(DINGO_REG_RESETS);
    pair.driver(0).reset();
    std::uint64_t writes = pair.cards.host(0).dma_writes;
    pair.cards.run_for(1'000'000'000);
    EXPECT_EQ(pair.cards.host(0).dma_writes, writes) << "DMA after reset";
    EXPECT_EQ(pair.driver(0).read32(DINGO_REG_RESETS), resets + 1);
    pair.driver(0).start();
    pair.driver(0).set_ipv4(0, 0x0a4d0001);
    pair.driver(0).enable_port();
    auto fresh = pair.cards.connect();
    const test::Mr mr = pair.driver(0).create_mr(4096, kAllAccess);
    test::SendWr wr = pair.write(0, 0, 64);
    wr.sges = {mr.sge(0, 64)};
    pair.driver(0).post_send(fresh.qp[0], wr);
    EXPECT_EQ(pair.cards.wait_cq(0, fresh.cq[0]).status, DINGO_WCS_SUCCESS);
}

}  // namespace dingo::conformance
