// SPDX-License-Identifier: BSD-2-Clause
//
// Atomics end to end.
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {

namespace {

std::uint64_t word(Pair& pair, unsigned card, std::uint64_t offset) {
    return pair.cards.host(card).load<std::uint64_t>(pair.mr[card].bus + offset);
}

}  // namespace

CONFORMANCE_SUITE(Atomics);

TEST_P(Atomics, FetchAddReturnsTheOldValue) {
    Pair pair(engine());
    NEEDS(pair.driver(1), ATOMIC);
    std::uint64_t expected = 0;
    for (std::uint64_t add : {std::uint64_t{1}, std::uint64_t{41}, ~std::uint64_t{0}}) {
        const dingo_cqe cqe = pair.complete(pair.fetch_add(64, 128, add));
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WR_FETCH_ADD);
        EXPECT_EQ(cqe.byte_len, 8u);
        EXPECT_EQ(word(pair, 0, 64), expected);
        expected += add;
        EXPECT_EQ(word(pair, 1, 128), expected);
    }
}

TEST_P(Atomics, CompareSwapStoresOnlyOnEquality) {
    Pair pair(engine());
    NEEDS(pair.driver(1), ATOMIC);
    test::SendWr wr = pair.rdma(DINGO_WR_CMP_SWAP, 0, 8, 8);
    wr.compare = 0;
    wr.swap_add = 0x1122334455667788;
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(word(pair, 0, 0), 0u);
    EXPECT_EQ(word(pair, 1, 8), 0x1122334455667788u);
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(word(pair, 0, 0), 0x1122334455667788u);
    EXPECT_EQ(word(pair, 1, 8), 0x1122334455667788u);
}

TEST_P(Atomics, ThousandLostAnswersLeaveTheCounterExact) {
    Pair pair(engine(), PairOptions().timeout(8));
    NEEDS(pair.driver(1), ATOMIC);
    WireFaults faults(pair.cards);
    for (std::uint64_t i = 0; i < 1000; ++i) {
        faults.clear();
        faults.add(Fault::kDrop, {.from = 1, .opcode = packet::Opcode::kRcAtomicAck});
        ASSERT_EQ(pair.complete(pair.fetch_add(0, 0, 3)).status, DINGO_WCS_SUCCESS);
        ASSERT_EQ(word(pair, 0, 0), 3 * i) << "the replayed value is not the original one";
    }
    EXPECT_EQ(word(pair, 1, 0), 3000u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_DUPLICATE_REQUEST), 1000u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RX_ATOMIC_REQUESTS), 1000u);
}

TEST_P(Atomics, ManyOutstandingFromBothSides) {
    Pair pair(engine());
    NEEDS(pair.driver(1), ATOMIC);
    for (unsigned i = 0; i < 60; ++i)
        pair.post(pair.fetch_add(8 * i, 0, 1));
    for (unsigned i = 0; i < 60; ++i)
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(word(pair, 1, 0), 60u);
    for (unsigned i = 0; i < 60; ++i)
        EXPECT_EQ(word(pair, 0, 8 * i), i);
}

TEST_P(Atomics, MisalignedAddressIsRefusedByTheResponder) {
    Pair pair(engine());
    NEEDS(pair.driver(1), ATOMIC);
    const dingo_cqe cqe = pair.complete(pair.fetch_add(0, 4, 1));
    EXPECT_EQ(cqe.status, DINGO_WCS_REM_INV_REQ_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_NAK_INVALID);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_RDMA_TX_PACKETS), 1u);
    EXPECT_EQ(pair.stat(1, DINGO_CARD_RX_ATOMIC_REQUESTS), 0u);
    EXPECT_EQ(pair.state(1), DINGO_QPS_ERR);
}

}  // namespace dingo::conformance
