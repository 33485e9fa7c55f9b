// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA READ end to end.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(RcRead);

TEST_P(RcRead, EverySizeAroundThePathMtuArrivesIntact) {
    for (std::uint8_t mtu = 1; mtu <= 5; ++mtu) {
        Pair pair(engine(), PairOptions().mtu(mtu));
        const std::uint32_t bytes = 128u << mtu;
        std::uint64_t seed = mtu;
        for (std::uint32_t size : {1u, bytes - 1, bytes, bytes + 1, 2 * bytes, 9 * bytes + 3}) {
            pair.fill(1, 11, size, ++seed);
            const dingo_cqe cqe = pair.complete(pair.read(7, 11, size));
            EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WR_READ);
            EXPECT_EQ(cqe.byte_len, size);
            EXPECT_TRUE(pair.same(7, 11, size)) << "mtu code " << int(mtu) << ", " << size;
        }
        EXPECT_TRUE(pair.idle(1)) << "a READ is silent at the responder";
    }
}

TEST_P(RcRead, ScattersOverFifteenEntries) {
    Pair pair(engine());
    pair.fill(1, 0, 40'000, 3);
    test::SendWr wr = pair.read(0, 0, 0);
    wr.sges.clear();
    std::uint32_t total = 0;
    for (unsigned i = 0; i < DINGO_SQ_MAX_SGE; ++i) {
        wr.sges.push_back(pair.mr[0].sge(i * 8192, 1 + i * 277));
        total += 1 + i * 277;
    }
    EXPECT_EQ(pair.complete(wr).byte_len, total);
    std::uint32_t at = 0;
    for (unsigned i = 0; i < DINGO_SQ_MAX_SGE; ++i) {
        EXPECT_TRUE(pair.same(i * 8192, at, 1 + i * 277)) << "entry " << i;
        at += 1 + i * 277;
    }
}

TEST_P(RcRead, ManyReadsStayInOrderWithinTheLimit) {
    PairOptions options;
    options.connect.path.max_rd_atomic = 4;
    Pair pair(engine(), options);
    pair.fill(1, 0, 64 * 3000, 9);
    std::vector<std::uint32_t> posted;
    for (unsigned i = 0; i < 50; ++i)
        posted.push_back(pair.post(pair.read(i * 3000, i * 3000, 3000)));
    for (std::uint32_t index : posted) {
        const dingo_cqe cqe = pair.wait();
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(cqe.wqe_index, index);
    }
    EXPECT_TRUE(pair.same(0, 0, 50 * 3000));
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u);
}

TEST_P(RcRead, SeesTheWriteBeforeIt) {
    Pair pair(engine());
    pair.fill(0, 0, 4096, 1);
    pair.post(pair.write(0, 0, 4096));
    pair.post(pair.read(8192, 0, 4096));
    pair.wait();
    pair.wait();
    EXPECT_TRUE(std::ranges::equal(pair.bytes(0, 0, 4096), pair.bytes(0, 8192, 4096)));
}

TEST_P(RcRead, FenceHoldsBackTheSendUntilTheDataIsThere) {
    Pair pair(engine());
    pair.fill(1, 0, 20'000, 1);
    pair.post_recv(1, 100'000, 20'000);
    pair.post(pair.read(0, 0, 20'000));
    test::SendWr send = pair.send(0, 20'000);
    send.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
    pair.post(send);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(pair.bytes(1, 0, 20'000), pair.bytes(1, 100'000, 20'000)));
}

TEST_P(RcRead, ResponderServesWhileItRequestsItself) {
    Pair pair(engine());
    pair.fill(0, 0, 30'000, 1);
    pair.fill(1, 30'000, 30'000, 2);
    test::SendWr back;
    back.opcode = DINGO_WR_READ;
    back.sges = {pair.mr[1].sge(0, 30'000)};
    back.raddr = pair.mr[0].iova;
    back.rkey = pair.mr[0].key;
    pair.driver(1).post_send(pair.qp(1), back);
    pair.post(pair.read(30'000, 30'000, 30'000));
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 60'000));
}

}  // namespace dingo::conformance
