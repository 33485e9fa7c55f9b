// SPDX-License-Identifier: BSD-2-Clause
//
// COMPARE_SWAP and FETCH_ADD at the requester: operands as posted, the peer's word in the SGE, and
// the limit that they share with READs.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

constexpr std::uint8_t kAtomicAck = 0x12, kCompareSwap = 0x13, kFetchAdd = 0x14;

class RequesterAtomic : public Requester {
  protected:
    void atomic(std::uint8_t opcode, std::uint64_t swap_add, std::uint64_t compare,
                std::uint64_t offset, std::uint32_t key = kKey) {
        b.begin(opcode);
        b.rdma(0xABC008, 0x55);
        b.put(32, dingo_wqe_atomic{swap_add, compare});
        b.sges({sge(offset, 8, key)}, 48);
        b.post(kQp);
    }
    std::uint64_t word(std::uint64_t offset) const {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes(offset, 8).data(), 8);
        return value;
    }
    void answer(std::uint32_t n, std::uint64_t value, std::uint8_t syndrome = 0x1F) {
        b.respond({.qp = kQp,
                   .opcode = kAtomicAck,
                   .psn = psn(n),
                   .syndrome = syndrome,
                   .payload = {},
                   .word = value});
    }
};

TEST_F(RequesterAtomic, OperandsLeaveAndTheWordComesBack) {
    start();
    atomic(DINGO_WR_CMP_SWAP, 0x1122334455667788, 0x99AABBCCDDEEFF00, 16);
    atomic(DINGO_WR_FETCH_ADD, 3, 77, 24);
    send(10);
    go();
    ASSERT_EQ(b.packets.size(), 3U);
    EXPECT_EQ(b.packets[0].opcode, kCompareSwap);
    EXPECT_EQ(b.packets[0].va, 0xABC008U);
    EXPECT_EQ(b.packets[0].rkey, 0x55U);
    EXPECT_EQ(b.packets[0].swap_add, 0x1122334455667788U);
    EXPECT_EQ(b.packets[0].compare, 0x99AABBCCDDEEFF00U);
    EXPECT_EQ(b.packets[0].len, 0U);
    EXPECT_TRUE(b.packets[0].ackreq);
    EXPECT_EQ(b.packets[1].opcode, kFetchAdd);
    EXPECT_EQ(b.packets[1].swap_add, 3U);
    EXPECT_EQ(b.packets[1].compare, 0U);
    EXPECT_EQ(b.packets[2].psn, psn(2));
    answer(0, 0x0102030405060708);
    answer(1, 42);
    b.settle();
    EXPECT_EQ(word(16), 0x0102030405060708U);
    EXPECT_EQ(word(24), 42U);
    ASSERT_EQ(b.cqes.size(), 2U);
    expect_cqe(0, 0, DINGO_WR_CMP_SWAP, 0, 0, 8);
    expect_cqe(1, 1, DINGO_WR_FETCH_ADD, 0, 0, 8);
    b.ack(kQp, psn(2));
    b.settle();
    expect_cqe(2, 2, DINGO_WR_SEND);
}

TEST_F(RequesterAtomic, TheyAreLimitedWithTheReads) {
    config.max_rd = 2;
    start();
    read(0, 8);
    atomic(DINGO_WR_FETCH_ADD, 1, 0, 8);
    atomic(DINGO_WR_FETCH_ADD, 1, 0, 16);
    go();
    EXPECT_EQ(b.packets.size(), 2U);
    b.respond({kQp, 0x10, psn(0), 0x1F, std::vector<std::uint8_t>(8, 3)});
    b.settle();
    EXPECT_EQ(b.packets.size(), 3U);
}

TEST_F(RequesterAtomic, AnAckThatPassesOneMeansThatItsAnswerWasLost) {
    start();
    atomic(DINGO_WR_FETCH_ADD, 1, 0, 8);
    send(10);
    go();
    b.ack(kQp, psn(1));
    b.settle();
    EXPECT_EQ(b.card[DINGO_CARD_IMPLIED_NAK_SEQ_ERR], 1U);
    ASSERT_EQ(b.packets.size(), 4U);
    EXPECT_EQ(b.packets[2].opcode, kFetchAdd);
    EXPECT_EQ(b.packets[2].psn, psn(0));
    answer(0, 9);
    b.ack(kQp, psn(1));
    b.settle();
    EXPECT_EQ(word(8), 9U);
    ASSERT_EQ(b.cqes.size(), 2U);
}

TEST_F(RequesterAtomic, AnswersOfTheWrongKindFail) {
    const std::vector<std::uint8_t> eight(8, 3);
    for (int i = 0; i < 3; ++i) {
        SCOPED_TRACE(i);
        b.cqes.clear();
        start();
        if (i == 2)
            read(0, 8);
        else
            atomic(DINGO_WR_FETCH_ADD, 1, 0, 8);
        go();
        if (i == 0)
            b.respond({kQp, 0x10, psn(0), 0x1F, eight});
        else
            answer(0, 1, i == 1 ? 0x61 : 0x1F);
        b.settle();
        ASSERT_EQ(b.cqes.size(), 1U);
        EXPECT_EQ(b.cqes[0].status, DINGO_WCS_BAD_RESP_ERR);
    }
}

TEST_F(RequesterAtomic, ARepeatedAnswerIsDropped) {
    start();
    atomic(DINGO_WR_FETCH_ADD, 1, 0, 8);
    go();
    answer(0, 9);
    b.settle();
    answer(0, 10);
    b.settle();
    EXPECT_EQ(word(8), 9U);
    EXPECT_EQ(b.cqes.size(), 1U);
    EXPECT_EQ(b.card[DINGO_CARD_RX_DROP_RESPONSE], 1U);
}

TEST_F(RequesterAtomic, MemoryThatMayNotBeWrittenIsRefusedBeforeItLeaves) {
    start();
    b.begin(DINGO_WR_FETCH_ADD);
    b.rdma(0xABC008, 0x55);
    b.sges({{0x9000'0000, 8, kReadOnlyKey}}, 48);
    b.post(kQp);
    go();
    EXPECT_TRUE(b.packets.empty());
    expect_cqe(0, 0, DINGO_WR_FETCH_ADD, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY_ACCESS);
}

}  // namespace
}  // namespace dingo::rtl
