// SPDX-License-Identifier: BSD-2-Clause
//
// A turn runs in parallel with steps and looks WQEs up ahead. Doorbells, ACKs, errors and commands
// of its own QP come at every moment of the turn.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

constexpr unsigned kMoments = 70;  ///< cycles from the doorbell until packets of the turn leave

class Turn : public Requester {
  protected:
    Turn() {
        config.log_sq = 6;
        config.retry = 7;
    }
    /// Posts WRITEs of one packet, each with different bytes.
    void writes(unsigned count, std::uint16_t qp = kQp) {
        for (unsigned i = 0; i < count; ++i) {
            b.begin(DINGO_WR_WRITE);
            b.rdma(0xABC000 + 64 * posted_, 0x55);
            b.sges({sge(64 * posted_ % 0x8000, 64)});
            b.post(qp);
            ++posted_;
        }
    }
    void ack_all() {
        b.on_packet = [this](const TestPacket& p) { b.ack(p.qp, p.psn); };
    }
    /// Expects packets `from` to `from` + `count` to be the messages of these numbers, and no more.
    void expect_packets(std::size_t from, std::size_t count) {
        ASSERT_EQ(b.packets.size(), from + count);
        for (std::size_t i = from; i < b.packets.size(); ++i) {
            EXPECT_EQ(b.packets[i].psn, psn(static_cast<std::uint32_t>(i)));
            EXPECT_EQ(b.packets[i].va, 0xABC000 + 64 * i);
            EXPECT_EQ(b.packets[i].payload, bytes(64 * i % 0x8000, 64)) << i;
        }
    }
    unsigned posted_ = 0;
};

TEST_F(Turn, DoorbellsThatComeDuringATurnAddToIt) {
    start();
    ack_all();
    std::size_t sent = 0;
    for (unsigned moment = 0; moment < kMoments; ++moment) {
        writes(3);
        b.ring(kQp);
        b.run(moment);
        writes(1);
        b.ring(kQp);
        writes(2);
        b.ring(kQp);
        b.settle();
        expect_packets(sent, 6);
        sent += 6;
        ASSERT_EQ(b.cqes.size(), sent) << moment;
        expect_cqe(sent - 1, static_cast<std::uint32_t>(sent - 1), DINGO_WR_WRITE);
    }
    EXPECT_EQ(b.bad_doorbells, 0U);
}

TEST_F(Turn, AcksComeWhileTheQpSends) {
    start();
    ack_all();
    for (unsigned round = 0; round < 6; ++round) {
        writes(64);
        b.ring(kQp);
        b.settle();
        ASSERT_EQ(b.cqes.size(), 64 * (round + 1));
    }
    expect_packets(0, 6 * 64);
    for (std::uint32_t i = 0; i < 6 * 64; ++i)
        expect_cqe(i, i, DINGO_WR_WRITE);
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
}

TEST_F(Turn, DoorbellsOfARunAreEachCheckedAlone) {
    start();
    ack_all();
    std::mt19937 random(1);
    std::uint32_t rung = 0;
    unsigned bad = 0;
    for (unsigned round = 0; round < 60; ++round) {
        const std::size_t sent = rung;
        const unsigned run = 1 + random() % 5;
        for (unsigned i = 0; i < run; ++i) {
            if (random() % 3 == 0) {
                b.doorbells.push_back({kQp, random() % 2 == 0 ? rung - 1 : rung + 100});
                ++bad;
            } else {
                writes(1);
                b.ring(kQp);
                ++rung;
            }
        }
        b.settle();
        ASSERT_EQ(b.bad_doorbells, bad) << round;
        expect_packets(sent, rung - sent);
        ASSERT_EQ(b.cqes.size(), rung);
    }
    EXPECT_EQ(b.card[DINGO_CARD_DB_DROPPED], bad);
}

TEST_F(Turn, BlocksFarBehindTheDoorbellComeWithoutAskingTwice) {
    start();
    writes(40);
    go();
    expect_packets(0, 40);
    EXPECT_LE(b.fills, 7U) << "8 blocks at a time";
}

TEST_F(Turn, PacketsOfALongMessageLeaveEverySixCycles) {
    constexpr unsigned kPackets = 16;  // as many as a turn sends
    b.never_stall();
    start();
    send(256 * (kPackets - 1) + 7);
    b.ring(kQp);
    b.run_until([&] { return b.packets.size() == 1; });
    const std::uint64_t before = b.now;
    b.run_until([&] { return b.packets.size() == kPackets; });
    EXPECT_LE((b.now - before) / 4, (kPackets - 1) * 6U);
    b.settle();
    for (unsigned i = 0; i < kPackets; ++i)
        EXPECT_EQ(b.packets[i].payload, bytes(256 * i, i + 1 < kPackets ? 256 : 7)) << i;
}

TEST_F(Turn, OneWhoseWqeIsOnItsWayMakesRoomForOthersAtOnce) {
    b.never_stall();
    b.line_wait = 10;
    start();
    TestQp other = config;
    other.sq = other.ring = 0x14000;
    b.create(kOther, other);
    writes(16);
    b.ring(kQp);
    writes(1, kOther);
    b.ring(kOther);
    b.run_until([&] { return b.packets.size() == 1; });
    b.hold_lines = true;  // kQp's blocks 8 to 15 do not come
    b.run_until([&] { return b.packets.size() == 8; });
    const std::uint64_t before = b.now;
    b.run_until([&] { return b.packets.size() == 9; });
    EXPECT_EQ(b.packets[8].qp, kOther);
    EXPECT_LE((b.now - before) / 4, 8U);
    b.hold_lines = false;
    b.settle();
    ASSERT_EQ(b.packets.size(), 17U);
    EXPECT_LE(b.fill_lines, 17U);
}

TEST_F(Turn, AnErrorAmongWqesThatWereLookedAtStopsThoseBehind) {
    constexpr unsigned kCount = 12;
    for (unsigned bad = 0; bad < kCount; ++bad) {
        start();
        b.packets.clear();
        b.cqes.clear();
        posted_ = 0;
        for (unsigned i = 0; i < kCount; ++i) {
            b.begin(DINGO_WR_WRITE);
            b.rdma(0xABC000, 0x55);
            b.sges({sge(0, 64, i == bad ? 0x30042 : kKey)});
            b.post(kQp);
        }
        ack_all();
        go();
        ASSERT_EQ(b.packets.size(), bad);
        ASSERT_EQ(b.cqes.size(), kCount);
        for (unsigned i = 0; i < kCount; ++i) {
            if (i < bad)
                expect_cqe(i, i, DINGO_WR_WRITE);
            else if (i == bad)
                expect_cqe(i, i, DINGO_WR_WRITE, DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY);
            else
                expect_cqe(i, i, DINGO_WR_WRITE, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
        }
        EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_ERR);
    }
}

TEST_F(Turn, WqesOfEveryKindBetweenPlainOnesKeepTheirOrder) {
    start();
    ack_all();
    std::vector<std::uint8_t> kinds;
    for (unsigned i = 0; i < 60; ++i) {
        if (i % 2 == 0) {
            b.begin(DINGO_WR_SEND_IMM, DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK, i);
            b.sges({sge(i, 1 + i)});
        } else if (i % 8 == 1) {
            b.begin(DINGO_WR_NOP);
        } else if (i % 8 == 3) {
            b.begin(DINGO_WR_SEND);
            b.inline_data(std::vector<std::uint8_t>(100, static_cast<std::uint8_t>(i)));
        } else if (i % 8 == 5) {
            b.begin(DINGO_WR_SEND,
                    DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK | DINGO_WQE_CTRL_FLAGS_FENCE_MASK);
            b.sges({sge(0, 20), sge(100, 20)});
        } else {
            b.begin(DINGO_WR_WRITE);
            b.rdma(0xABC000, 0x55);
            b.sges({sge(0, 700)});
        }
        kinds.push_back(b.raw[0]);
        b.post(kQp);
        if (i % 5 == 4)
            go();
    }
    go();
    ASSERT_EQ(b.cqes.size(), kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        EXPECT_EQ(b.cqes[i].opcode, kinds[i]) << i;
        EXPECT_EQ(b.cqes[i].status, 0) << i;
    }
    for (std::size_t i = 0; i < b.packets.size(); ++i)
        EXPECT_EQ(b.packets[i].psn, psn(static_cast<std::uint32_t>(i)));
}

TEST_F(Turn, ACommandWaitsForTheTurnAndFlushesWhatItLeft) {
    for (unsigned moment = 0; moment < kMoments; ++moment) {
        start();
        b.packets.clear();
        b.cqes.clear();
        posted_ = 0;
        writes(24);
        b.ring(kQp);
        b.run(moment);
        b.modify(kQp, DINGO_QPS_ERR);
        b.settle();
        const std::size_t sent = b.packets.size();
        b.run(300);
        ASSERT_EQ(b.packets.size(), sent) << "a packet of a QP in ERR";
        ASSERT_EQ(b.cqes.size(), 24U) << moment;
        for (std::uint32_t i = 0; i < 24; ++i)
            expect_cqe(i, i, DINGO_WR_WRITE, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    }
}

TEST_F(Turn, WhatWasFetchedForAQpThatIsGoneSendsNothing) {
    for (unsigned moment = 0; moment < kMoments; ++moment) {
        start();
        posted_ = 0;
        writes(2);
        b.ring(kQp);
        b.run(moment);
        b.halt();
        b.dut.halt_tx_i = 0;
        start();  // as CREATE_QP does: nothing of the old QP is kept
        b.packets.clear();
        b.cqes.clear();
        b.settle();
        EXPECT_TRUE(b.packets.empty()) << moment;
        posted_ = 0;
        writes(3);
        go();
        expect_packets(0, 3);
        EXPECT_TRUE(b.cqes.empty());
    }
}

TEST_F(Turn, AFailureThatTheResponderFoundEndsAQpInItsTurn) {
    for (unsigned moment = 0; moment < kMoments; ++moment) {
        start();
        b.packets.clear();
        b.cqes.clear();
        posted_ = 0;
        writes(20);
        b.ring(kQp);
        b.run(moment);
        b.qps[kQp].state = DINGO_QPS_ERR;
        b.dut.fail_valid_i = 1;
        b.dut.fail_qp_i = kQp;
        b.tick();
        b.settle();
        ASSERT_EQ(b.cqes.size(), 20U) << moment;
        for (std::uint32_t i = 0; i < 20; ++i)
            expect_cqe(i, i, DINGO_WR_WRITE, DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED);
    }
}

TEST_F(Turn, ManyQpsWithOneWqeEachAllGetTheirTurn) {
    ack_all();
    for (std::uint16_t qp = 1; qp < 31; ++qp) {
        TestQp other = config;
        other.sq = other.ring = 0x40000U + qp * 0x1000U;
        b.create(qp, other);
    }
    b.line_wait = 200;
    for (unsigned round = 0; round < 8; ++round) {
        for (std::uint16_t qp = 1; qp < 31; ++qp) {
            writes(1, qp);
            b.ring(qp);
        }
        b.run(round * 40);
    }
    b.settle();
    EXPECT_EQ(b.packets.size(), 240U);
    EXPECT_EQ(b.cqes.size(), 240U);
    EXPECT_EQ(b.card[DINGO_CARD_RETRANSMITS], 0U);
    EXPECT_LE(b.fill_lines, 300U) << "blocks on their way are not asked for again";
}

}  // namespace
}  // namespace dingo::rtl
