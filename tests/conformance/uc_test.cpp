// SPDX-License-Identifier: BSD-2-Clause
//
// Unreliable connected QPs end to end.
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Uc);

TEST_P(Uc, SendsAndWritesOfEverySizeArrive) {
    ENGINE_NEEDS(UC);
    Pair pair(engine(), PairOptions().kind(DINGO_QPT_UC));
    std::uint32_t tag = 0;
    for (std::uint32_t size : {0u, 1u, 1023u, 1024u, 1025u, 10'000u}) {
        pair.fill(0, 0, size, size);
        pair.post_recv(++tag, 0, size);
        EXPECT_EQ(pair.complete(pair.send(0, size)).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).byte_len, size);
        EXPECT_TRUE(pair.same(0, 0, size));
        EXPECT_EQ(pair.complete(pair.write(0, 50'000, size)).status, DINGO_WCS_SUCCESS);
        pair.cards.settle();
        EXPECT_TRUE(pair.same(0, 50'000, size));
    }
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RDMA_TX_PACKETS), 0u) << "UC answers nothing";
}

TEST_P(Uc, LostPacketLosesItsMessageOnly) {
    ENGINE_NEEDS(UC);
    Pair pair(engine(), PairOptions().kind(DINGO_QPT_UC));
    WireFaults faults(pair.cards);
    faults.add(Fault::kDrop, {.from = 0, .opcode = packet::Opcode::kUcSendMiddle});
    for (std::uint32_t i = 0; i < 3; ++i)
        pair.post_recv(i, i * 8192, 8192);
    for (unsigned i = 0; i < 3; ++i) {
        pair.fill(0, i * 8192, 5000, i);
        EXPECT_EQ(pair.complete(pair.send(i * 8192, 5000)).status, DINGO_WCS_SUCCESS);
    }
    EXPECT_EQ(pair.wait(1).wqe_index, 0u) << "the entry of the lost message is used again";
    EXPECT_EQ(pair.wait(1).wqe_index, 1u);
    pair.cards.settle();
    EXPECT_TRUE(pair.idle(1));
    EXPECT_TRUE(pair.same(8192, 0, 5000));
    EXPECT_TRUE(pair.same(16384, 8192, 5000));
    EXPECT_GE(pair.stat(1, DINGO_CARD_RX_DROP_UC), 1u);
}

TEST_P(Uc, NothingIsRepeatedUnderLoss) {
    ENGINE_NEEDS(UC);
    Pair pair(engine(), PairOptions().kind(DINGO_QPT_UC));
    WireFaults faults(pair.cards);
    faults.add_random({.drop = 0.2});
    for (unsigned i = 0; i < 100; ++i)
        EXPECT_EQ(pair.complete(pair.write(0, 0, 3000)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0u);
    EXPECT_EQ(pair.state(1), DINGO_QPS_RTS);
}

}  // namespace dingo::conformance
