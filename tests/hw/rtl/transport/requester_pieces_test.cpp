// SPDX-License-Identifier: BSD-2-Clause
//
// Messages of one packet with two SGEs, which take the quick path: both keys are looked up before
// anything of the message leaves, and an error of either is reported as by the long path.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

constexpr std::uint32_t kOtherKey = 0x30042;

class Pieces : public Requester {
  protected:
    Pieces() {
        config.log_sq = 6;
        config.retry = 7;
        b.regions[kOtherKey] = {0x8000'0000, 0x1000, 0x60000, 0};
    }
    /// Posts a WRITE with two SGEs, different bytes each time; the second SGE is in another region.
    void write(std::uint32_t first, std::uint32_t second, std::uint32_t key_1 = kKey,
               std::uint32_t key_2 = kOtherKey) {
        const std::uint64_t n = sent_.size();
        b.begin(DINGO_WR_WRITE);
        b.rdma(0xABC000 + n, 0x55);
        b.sges(
            {{0x7000'0000 + 97 * n, first, key_1}, {0x8000'0000 + 31 * n % 0x800, second, key_2}});
        sent_.push_back(bytes(97 * n, first));
        const auto from = b.memory.begin() + 0x60000 + static_cast<std::ptrdiff_t>(31 * n % 0x800);
        sent_.back().insert(sent_.back().end(), from, from + second);
        b.post(kQp);
    }
    void ack_all() {
        b.on_packet = [this](const TestPacket& p) { b.ack(p.qp, p.psn); };
    }
    void again() {
        start();
        b.packets.clear();
        b.cqes.clear();
        sent_.clear();
    }
    void expect_packets(std::size_t count, std::size_t from = 0) {
        ASSERT_EQ(b.packets.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(b.packets[i].psn, psn(static_cast<std::uint32_t>(from + i)));
            EXPECT_EQ(b.packets[i].va, 0xABC000 + from + i);
            EXPECT_EQ(b.packets[i].dma_len, sent_[from + i].size());
            EXPECT_EQ(b.packets[i].payload, sent_[from + i]) << i;
        }
    }
    std::vector<std::vector<std::uint8_t>> sent_;
};

TEST_F(Pieces, LeaveInOrderWithOthersBetween) {
    start();
    ack_all();
    std::mt19937 random(5);
    for (unsigned round = 0; round < 60; ++round) {
        const unsigned run = 1 + random() % 12;
        for (unsigned i = 0; i < run; ++i) {
            const auto what = random() % 5;
            const auto first = static_cast<std::uint32_t>(1 + random() % 128);
            if (what < 3) {
                write(first, static_cast<std::uint32_t>(1 + random() % 128));
                continue;
            }
            b.begin(DINGO_WR_WRITE);
            b.rdma(0xABC000 + sent_.size(), 0x55);
            sent_.push_back(bytes(97 * sent_.size(), first % 64 + 1));
            if (what == 3)
                b.sges({sge(97 * (sent_.size() - 1), first % 64 + 1)});
            else
                b.inline_data(sent_.back());
            b.post(kQp);
        }
        b.ring(kQp);
        if (round % 3 != 0)
            b.settle();
        else
            b.run(static_cast<unsigned>(random() % 40));
    }
    b.settle();
    expect_packets(sent_.size());
    EXPECT_EQ(b.cqes.size(), sent_.size());
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
}

TEST_F(Pieces, OneOfNothingAndMoreThanAPacketAreAllowed) {
    start();
    ack_all();
    write(0, 40);
    write(40, 0);
    write(128, 128);
    write(1, 255);
    go();
    expect_packets(4);
    b.packets.clear();
    for (const auto& [first, second] : {std::pair{200U, 57U}, {256U, 1U}, {1U, 256U}})
        write(first, second);
    go();
    ASSERT_EQ(b.packets.size(), 6U);
    for (std::size_t i = 0; i < 3; ++i) {
        std::vector<std::uint8_t> both = b.packets[2 * i].payload;
        both.insert(both.end(), b.packets[2 * i + 1].payload.begin(),
                    b.packets[2 * i + 1].payload.end());
        EXPECT_EQ(both, sent_[4 + i]);
    }
    EXPECT_EQ(b.cqes.size(), 7U);
}

TEST_F(Pieces, AKeyThatIsRefusedFailsItsMessageAndNothingOfItLeaves) {
    b.regions[0x40042] = {0x8000'0000, 0x20, 0x60000, 0};  // too short
    const auto wrong = [&](std::uint32_t key_1, std::uint32_t key_2, std::uint8_t verr) {
        for (unsigned bad = 0; bad < 6; ++bad) {
            again();
            ack_all();
            for (unsigned i = 0; i < 6; ++i)
                write(32, 33, i == bad ? key_1 : kKey, i == bad ? key_2 : kOtherKey);
            go();
            expect_packets(bad);
            ASSERT_EQ(b.cqes.size(), 6U);
            for (unsigned i = 0; i < bad; ++i)
                expect_cqe(i, i, DINGO_WR_WRITE);
            expect_cqe(bad, bad, DINGO_WR_WRITE, DINGO_WCS_LOC_PROT_ERR, verr);
        }
    };
    wrong(0x90042, kOtherKey, DINGO_VERR_KEY);
    wrong(kKey, 0x90042, DINGO_VERR_KEY);
    wrong(kKey, 0x40042, DINGO_VERR_KEY_BOUNDS);
    wrong(0x90042, 0x40042, DINGO_VERR_KEY);  // both wrong: the first one's error
    wrong(kOtherKey, 0x90042, DINGO_VERR_KEY_BOUNDS);
}

TEST_F(Pieces, APausedRegionHoldsTheMessageBack) {
    for (const std::uint32_t key : {kKey, kOtherKey}) {
        again();
        ack_all();
        b.regions[key].paused = true;
        write(30, 30);
        go();
        EXPECT_TRUE(b.packets.empty());
        b.regions[key].paused = false;
        b.resume();
        b.settle();
        expect_packets(1);
        EXPECT_EQ(b.cqes.size(), 1U);
    }
}

TEST_F(Pieces, WhatIsRepeatedHasTheSameBytes) {
    start();
    for (std::uint32_t i = 0; i < 20; ++i)
        write(1 + i * 3, 70 - i);
    go();
    expect_packets(20);
    b.packets.clear();
    b.ack(kQp, psn(7), 0x60);  // sequence NAK: repeats from the eighth packet on
    b.settle();
    expect_packets(13, 7);
    b.ack(kQp, psn(19));
    b.settle();
    EXPECT_EQ(b.cqes.size(), 20U);
}

TEST_F(Pieces, ACommandInTheMiddleFlushesEachOnce) {
    for (unsigned moment = 0; moment < 60; ++moment) {
        again();
        for (unsigned i = 0; i < 18; ++i)
            write(20, 30 + i);
        b.ring(kQp);
        b.run(moment);
        b.modify(kQp, DINGO_QPS_ERR);
        b.settle();
        expect_packets(b.packets.size());
        ASSERT_EQ(b.cqes.size(), 18U) << moment;
        for (std::uint32_t i = 0; i < 18; ++i)
            expect_cqe(i, i, DINGO_WR_WRITE, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    }
}

}  // namespace
}  // namespace dingo::rtl
