// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA WRITE end to end.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(RcWrite);

TEST_P(RcWrite, EverySizeAroundThePathMtuArrivesIntact) {
    for (std::uint8_t mtu = 1; mtu <= 5; ++mtu) {
        Pair pair(engine(), PairOptions().mtu(mtu));
        const std::uint32_t bytes = 128u << mtu;
        std::uint64_t seed = mtu;
        for (std::uint32_t size : {1u, 3u, bytes - 1, bytes, bytes + 1, 2 * bytes, 7 * bytes + 5}) {
            pair.fill(0, 0, size, ++seed);
            pair.fill(1, 0, size + 64, ++seed);
            const std::vector<std::byte> before(pair.bytes(1, size + 17, 32).begin(),
                                                pair.bytes(1, size + 17, 32).end());
            const dingo_cqe cqe = pair.complete(pair.write(0, 17, size));
            EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WR_WRITE);
            EXPECT_EQ(test::cqe_qpn(cqe), pair.qp(0).qpn);
            EXPECT_TRUE(pair.same(0, 17, size)) << "mtu code " << int(mtu) << ", " << size;
            EXPECT_TRUE(std::ranges::equal(before, pair.bytes(1, size + 17, 32)))
                << "bytes behind the message were touched";
        }
        EXPECT_TRUE(pair.idle(1));
    }
}

TEST_P(RcWrite, GathersFifteenEntries) {
    Pair pair(engine());
    test::SendWr wr = pair.write(0, 0, 0);
    wr.sges.clear();
    std::vector<std::byte> expected;
    for (unsigned i = 0; i < DINGO_SQ_MAX_SGE; ++i) {
        const std::uint32_t length = 1 + i * 331;
        pair.fill(0, i * 8192, length, i);
        wr.sges.push_back(pair.mr[0].sge(i * 8192, length));
        const auto part = pair.bytes(0, i * 8192, length);
        expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(expected, pair.bytes(1, 0, expected.size())));
}

TEST_P(RcWrite, InlineDataUpToTheLimitIsTakenFromTheQueue) {
    Pair pair(engine());
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{32}, std::size_t{33},
                             std::size_t{96}, std::size_t{97}, std::size_t{DINGO_MAX_INLINE}}) {
        test::SendWr wr = pair.write(0, 0, 0);
        wr.sges.clear();
        wr.force_inline = true;
        wr.inline_data.resize(size);
        random_bytes(wr.inline_data, size);
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(std::ranges::equal(wr.inline_data, pair.bytes(1, 0, size))) << size;
    }
}

TEST_P(RcWrite, ImmediateDataReachesTheReceiverAfterAllBytes) {
    Pair pair(engine());
    pair.fill(0, 0, 5000, 1);
    pair.post_recv(77, 0, 0);
    test::SendWr wr = pair.rdma(DINGO_WR_WRITE_IMM, 0, 100, 5000);
    wr.imm = 0xdeadbeef;
    wr.flags |= DINGO_WQE_CTRL_FLAGS_SOLICITED_MASK;
    bool complete_when_told = false;
    pair.cards.host(1).on_write = [&](std::uint64_t addr, std::span<const std::byte> data) {
        // The CQE is the only write of its size to the CQ's ring.
        if (addr >= pair.cq(1).ring && addr < pair.cq(1).ring + 32 && data.size() == 32)
            complete_when_told = pair.same(0, 100, 5000);
    };
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    const dingo_cqe cqe = pair.wait(1);
    EXPECT_EQ(cqe.wqe_index, 77u);
    EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WC_RECV_WRITE_IMM);
    EXPECT_EQ(cqe.byte_len, 5000u);
    EXPECT_EQ(__builtin_bswap32(cqe.imm), 0xdeadbeefu);
    EXPECT_EQ(cqe.flags & (DINGO_CQE_FLAGS_IMM_MASK | DINGO_CQE_FLAGS_SOLICITED_MASK),
              DINGO_CQE_FLAGS_IMM_MASK | DINGO_CQE_FLAGS_SOLICITED_MASK);
    EXPECT_TRUE(complete_when_told) << "the completion was visible before the data";
}

TEST_P(RcWrite, UnsignaledRequestsAreCoveredByTheNextCompletion) {
    Pair pair(engine());
    for (unsigned i = 0; i < 10; ++i) {
        test::SendWr wr = pair.write(i * 64, i * 64, 64);
        pair.fill(0, i * 64, 64, i);
        wr.flags = i == 9 ? kSignaled : 0;
        pair.post(wr);
    }
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.idle(0));
    EXPECT_TRUE(pair.same(0, 0, 640));
}

TEST_P(RcWrite, SignalAllCompletesEveryRequest) {
    PairOptions options;
    options.connect.qp.flags = DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK;
    Pair pair(engine(), options);
    for (unsigned i = 0; i < 4; ++i) {
        test::SendWr wr = pair.write(0, 0, 8);
        wr.flags = 0;
        const std::uint32_t index = pair.post(wr);
        EXPECT_EQ(pair.wait().wqe_index, index);
    }
}

TEST_P(RcWrite, CountersTellPacketsAndBytes) {
    Pair pair(engine());  // path MTU 1024
    pair.complete(pair.write(0, 0, 2500));
    constexpr unsigned kHeaders = 14 + 20 + 8 + 12 + 4;
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS), 3u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RDMA_TX_BYTES), 2500u + 3 * kHeaders + 16);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RDMA_RX_PACKETS), 3u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RDMA_RX_BYTES), pair.stat(0, DINGO_CARD_RDMA_TX_BYTES));
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RX_WRITE_REQUESTS), 1u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RDMA_TX_PACKETS), 1u);
    const auto qp = pair.driver(0).qp_stats(pair.qp(0).qpn);
    EXPECT_EQ(qp[DINGO_QP_TX_PACKETS], 3u);
    EXPECT_EQ(qp[DINGO_QP_RX_PACKETS], 1u);
    EXPECT_EQ(qp[DINGO_QP_ACKS_RCVD], 1u);
    EXPECT_EQ(qp[DINGO_QP_SEND_CQES], 1u);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u);
}

TEST_P(RcWrite, BothDirectionsAtOnce) {
    Pair pair(engine());
    constexpr std::uint32_t kBytes = 100'000;
    pair.fill(0, 0, kBytes, 1);
    pair.fill(1, kBytes, kBytes, 2);
    pair.post(pair.write(0, 0, kBytes));
    test::SendWr back;
    back.opcode = DINGO_WR_WRITE;
    back.sges = {pair.mr[1].sge(kBytes, kBytes)};
    back.raddr = pair.mr[0].iova + kBytes;
    back.rkey = pair.mr[0].key;
    pair.driver(1).post_send(pair.qp(1), back);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 2 * kBytes));
}

TEST_P(RcWrite, MessageOfThousandsOfPackets) {
    PairOptions options;
    options.bytes = effort(64u << 20, 20u << 20);
    Pair pair(engine(), options.mtu(5));
    pair.fill(0, 0, options.bytes, 5);
    EXPECT_EQ(pair.complete(pair.write(0, 0, options.bytes)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, options.bytes));
}

TEST_P(RcWrite, WorksWithoutDirectMemoryPointers) {
    Pair pair(engine());
    pair.cards.host(0).pointers = pair.cards.host(1).pointers = false;
    pair.fill(0, 3, 50'000, 4);
    EXPECT_EQ(pair.complete(pair.write(3, 5, 50'000)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(3, 5, 50'000));
}

}  // namespace dingo::conformance
