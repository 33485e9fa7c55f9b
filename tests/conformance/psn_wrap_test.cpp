// SPDX-License-Identifier: BSD-2-Clause
//
// The PSN wraps under traffic.
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(PsnWrap);

TEST_P(PsnWrap, HundredThousandPacketsFromJustBeforeTheWrap) {
    PairOptions options;
    options.connect.start_psn = {0xfffff0, 0xfffff8};
    options.bytes = 4u << 20;
    Pair pair(engine(), options.mtu(1));
    const std::uint64_t packets = kSanitized ? 20'000 : effort(100'000, 5'000);
    std::mt19937_64 random(3);
    std::uint64_t before = pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS);
    for (unsigned round = 0; pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS) - before < packets; ++round) {
        const auto size = static_cast<std::uint32_t>(round < 600 ? round : random() % 1'000'000);
        pair.fill(0, 0, size, round);
        pair.post(pair.write(0, 0, size));
        pair.post(pair.read(2u << 20, 0, size));
        ASSERT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        ASSERT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        ASSERT_TRUE(pair.same(0, 0, size));
        ASSERT_TRUE(pair.same(2u << 20, 0, size));
    }
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_OUT_OF_SEQUENCE), 0u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_DUPLICATE_REQUEST), 0u);
}

TEST_P(PsnWrap, LossRightAtTheWrap) {
    for (std::uint32_t lost : {0xfffffeu, 0xffffffu, 0u, 1u}) {
        PairOptions options;
        options.connect.start_psn = {0xfffffc, 0x10};
        Pair pair(engine(), options.timeout(8));
        WireFaults faults(pair.cards);
        faults.add(Fault::kDrop, {.from = 0, .psn = lost});
        pair.fill(0, 0, 8192, lost);
        EXPECT_EQ(pair.complete(pair.write(0, 0, 8192)).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, 8192));
        EXPECT_EQ(faults.injured, 1u);
    }
}

TEST_P(PsnWrap, WholeNumberSpaceOfLargeReads) {
    // READ responses use the requester's PSNs: 40 MiB at 256 bytes are 163,840 of them.
    PairOptions options;
    const std::uint32_t bytes = effort(40, 4) << 20;
    options.connect.start_psn = {0x1000000 - bytes / 256 / 2, 0};
    options.bytes = bytes;
    Pair pair(engine(), options.mtu(1));
    pair.fill(1, 0, options.bytes, 1);
    EXPECT_EQ(pair.complete(pair.read(0, 0, bytes)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, options.bytes));
}

}  // namespace dingo::conformance
