// SPDX-License-Identifier: BSD-2-Clause
//
// Inline data of one beat, which take the quick path: every length, in one block or two, any place
// of the second block, and errors in it.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

class Inline : public Requester {
  protected:
    Inline() {
        config.log_sq = 6;
        config.retry = 7;
    }
    /// Makes a WRITE with `length` bytes of inline data, different ones each time.
    void write(std::uint32_t length, std::uint8_t flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK) {
        b.begin(DINGO_WR_WRITE, flags);
        b.rdma(0xABC000 + sent_.size(), 0x55);
        sent_.push_back(bytes(97 * sent_.size(), length));
        b.inline_data(sent_.back());
    }
    void ack_all() {
        b.on_packet = [this](const TestPacket& p) { b.ack(p.qp, p.psn); };
    }
    void expect_packets(std::size_t count) {
        ASSERT_EQ(b.packets.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(b.packets[i].psn, psn(static_cast<std::uint32_t>(i)));
            EXPECT_EQ(b.packets[i].va, 0xABC000 + i);
            EXPECT_EQ(b.packets[i].dma_len, sent_[i].size());
            EXPECT_EQ(b.packets[i].payload, sent_[i]) << i;
        }
    }
    std::vector<std::vector<std::uint8_t>> sent_;
};

TEST_F(Inline, EveryLengthLeavesWithOthersBeforeAndBehind) {
    start();
    ack_all();
    std::mt19937 random(3);
    for (unsigned round = 0; round < 40; ++round) {
        const unsigned run = 1 + random() % 9;
        for (unsigned i = 0; i < run; ++i) {
            if (random() % 4 == 0) {
                b.begin(DINGO_WR_WRITE);
                b.rdma(0xABC000 + sent_.size(), 0x55);
                sent_.push_back(bytes(97 * sent_.size(), 1 + random() % 256));
                b.sges({sge(97 * (sent_.size() - 1),
                            static_cast<std::uint32_t>(sent_.back().size()))});
            } else {
                write(random() % 100);
            }
            b.post(kQp);
        }
        go();
        ASSERT_EQ(b.cqes.size(), sent_.size());
    }
    expect_packets(sent_.size());
    for (const TestCqe& c : b.cqes)
        EXPECT_EQ(c.status, 0);
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
}

TEST_F(Inline, MoreBlocksThanNeededAndAFenceAreAllowed) {
    start();
    ack_all();
    for (const unsigned blocks : {1U, 2U, 3U}) {
        for (const std::uint8_t flags :
             {DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK,
              DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK}) {
            write(20, flags);
            b.raw[2] = static_cast<std::uint8_t>(blocks);
            b.post(kQp);
            write(50, flags);
            b.raw[2] = static_cast<std::uint8_t>(std::max(blocks, 2U));
            b.post(kQp);
        }
    }
    go();
    expect_packets(12);
    EXPECT_EQ(b.cqes.size(), 12U);
}

/// The fourth WQE has an error that dingo_wqe_load checks: it fails, and those before it are sent.
TEST_F(Inline, WhatIsWrongIsRefused) {
    const auto wrong = [&](std::uint8_t verr, const std::function<void()>& change, bool read) {
        start();
        ack_all();
        b.packets.clear();
        b.cqes.clear();
        sent_.clear();
        for (unsigned i = 0; i < 3; ++i) {
            write(40);
            b.post(kQp);
        }
        const auto opcode = static_cast<std::uint8_t>(read ? DINGO_WR_READ : DINGO_WR_WRITE);
        write(64);
        b.raw[0] = opcode;
        change();
        b.post(kQp);
        b.ring(kQp);
        b.settle();
        sent_.pop_back();
        expect_packets(3);
        ASSERT_EQ(b.cqes.size(), 4U);
        expect_cqe(3, 6, opcode, DINGO_WCS_LOC_QP_OP_ERR, verr);
    };
    const auto nothing = [] {};
    wrong(
        DINGO_VERR_WQE_SIZE, [&] { b.raw[2] = 1; }, false);  // data beyond the WQE's block
    wrong(
        DINGO_VERR_WQE_SIZE, [&] { b.raw[3] = 1; }, false);  // an SGE together with inline data
    wrong(
        DINGO_VERR_WQE_SIZE, [&] { b.raw[9] = 2; }, false);  // 576 bytes
    wrong(
        DINGO_VERR_WQE_RESERVED, [&] { b.raw[10] = 1; }, false);
    wrong(
        DINGO_VERR_WQE_RESERVED, [&] { b.raw[28] = 1; }, false);
    wrong(DINGO_VERR_WQE_SIZE, nothing, true);
}

TEST_F(Inline, ADoorbellThatEndsInTheMiddleOfOneIsAnError) {
    start();
    ack_all();
    for (unsigned i = 0; i < 4; ++i) {
        write(64);
        b.post(kQp);
    }
    b.doorbells.push_back({kQp, 7});
    b.settle();
    sent_.pop_back();
    expect_packets(3);
    ASSERT_EQ(b.cqes.size(), 4U);
    expect_cqe(3, 6, DINGO_WR_WRITE, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE);
}

TEST_F(Inline, ASecondBlockThatCannotBeReadFailsItsWqe) {
    config.log_sq = 7;
    config.sq = config.ring = RequesterBench::kBadPage - 0x1000;  // blocks 64 on are in kBadPage
    start();
    ack_all();
    write(20);
    b.post(kQp);
    for (unsigned i = 0; i < 33; ++i) {
        write(64);
        b.post(kQp);
        if (i % 5 == 0)
            go();
    }
    go();
    sent_.resize(32);
    expect_packets(32);
    ASSERT_GE(b.cqes.size(), 33U);
    expect_cqe(32, 63, DINGO_WR_WRITE, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH);
}

TEST_F(Inline, WhatIsRepeatedHasTheSameBytes) {
    start();
    for (unsigned i = 0; i < 20; ++i) {
        write(1 + i * 3);
        b.post(kQp);
    }
    go();
    expect_packets(20);
    b.packets.clear();
    b.ack(kQp, psn(7), 0x60);  // sequence NAK: repeats from the eighth packet on
    b.settle();
    ASSERT_EQ(b.packets.size(), 13U);
    for (std::size_t i = 0; i < 13; ++i) {
        EXPECT_EQ(b.packets[i].psn, psn(static_cast<std::uint32_t>(7 + i)));
        EXPECT_EQ(b.packets[i].payload, sent_[7 + i]);
    }
    b.ack(kQp, psn(19));
    b.settle();
    EXPECT_EQ(b.cqes.size(), 20U);
}

/// The QP goes to ERR at each of 60 moments of a turn: each WQE is flushed once.
TEST_F(Inline, ACommandInTheMiddleFlushesEachOnce) {
    for (unsigned moment = 0; moment < 60; ++moment) {
        start();
        b.packets.clear();
        b.cqes.clear();
        sent_.clear();
        for (unsigned i = 0; i < 16; ++i) {
            write(i % 2 == 0 ? 64 : 32);
            b.post(kQp);
        }
        b.ring(kQp);
        b.run(moment);
        b.modify(kQp, DINGO_QPS_ERR);
        b.settle();
        expect_packets(b.packets.size());
        ASSERT_EQ(b.cqes.size(), 16U) << moment;
        for (std::uint32_t i = 0; i < 16; ++i)
            expect_cqe(i, i + (i + 1) / 2, DINGO_WR_WRITE, DINGO_WCS_WR_FLUSH_ERR,
                       DINGO_VERR_FLUSHED);
    }
}

}  // namespace
}  // namespace dingo::rtl
