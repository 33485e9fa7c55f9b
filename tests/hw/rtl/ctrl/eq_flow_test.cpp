// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_eq under load, with a full table of waiting events, and after DEVICE_FATAL.
#include <gtest/gtest.h>

#include "eq_bench.h"

namespace {

using namespace dingo::rtl;

class RtlEqFlow : public testing::TestWithParam<int> {};

/// A host has two EQs, one of them asynchronous. It arms an EQ and sleeps until its interrupt
/// comes. The rings have 4 and 8 entries, so that many events wait for room.
TEST_P(RtlEqFlow, EveryEventArrivesOnceAndWakesTheHost) {
    const unsigned stall = static_cast<unsigned>(GetParam());
    EqBench bench(stall + 1);
    Dice& dice = bench.dice;
    bench.host.stall_percent = stall;
    bench.host.latency = 1 + stall / 2;
    bench.willing = 100 - stall;
    struct Host {
        EqConfig cfg;
        std::uint32_t consumer = 0;
        bool awake = true;
    };
    std::array<Host, 2> hosts;
    for (unsigned i = 0; i < 2; ++i) {
        hosts[i].cfg = {true, i, i == 0, 10 + i, 2 + i, {}};
        hosts[i].cfg.mem = bench.host.make_ring(i, 16ull << hosts[i].cfg.log_size);
        bench.configure(hosts[i].cfg);
        ASSERT_FALSE(HasFatalFailure());
    }
    // As a CQ must be armed anew, it has no second event before the host has consumed the first.
    std::array<bool, kCqs> told{};
    std::array<bool, 64> out{};
    unsigned posted = 0;
    unsigned consumed = 0;
    unsigned admin = 0;
    unsigned vector0 = 0;
    const int cycles = 60'000;
    for (int cycle = 0; cycle < cycles + 20'000 && !HasFatalFailure(); ++cycle) {
        if (cycle < cycles) {
            const unsigned cq = dice.below(kCqs);
            if (!bench.completion && !told[cq] && dice.percent(20)) {
                told[cq] = true;
                bench.completion = {cq & 1, cq};
                ++posted;
            }
            const unsigned id = dice.below(64);
            const unsigned source = dice.below(4);
            if (!bench.events[source] && !out[id] && dice.percent(10)) {
                out[id] = true;
                bench.events[source] = Event{DINGO_EV_COMM_EST, id, id * 3};
                ++posted;
            }
            if (dice.percent(1)) {
                bench.admin_irq();
                ++admin;
            }
        }
        for (Host& h : hosts) {
            if (!h.awake || bench.db || !dice.percent(1)) {
                continue;
            }
            unsigned taken = 0;
            for (; taken < 1u << h.cfg.log_size; ++taken) {
                const std::uint32_t mask = (1u << h.cfg.log_size) - 1;
                const std::uint64_t at = bench.host.address(h.cfg.mem, (h.consumer & mask) * 16ull);
                if (bench.host.load(at + 15, 1) != ((h.consumer >> h.cfg.log_size & 1) == 0)) {
                    break;
                }
                const auto id = static_cast<unsigned>(bench.host.load(at + 4, 4));
                if (bench.host.load(at, 1) == DINGO_EV_COMPLETION) {
                    ASSERT_LT(id, kCqs);
                    ASSERT_EQ(id & 1, h.cfg.eq);
                    ASSERT_TRUE(told[id]) << "told twice";
                    told[id] = false;
                } else {
                    ASSERT_LT(id, 64u);
                    ASSERT_EQ(h.cfg.eq, 0u);
                    ASSERT_EQ(bench.host.load(at + 8, 4), id * 3);
                    ASSERT_TRUE(out[id]) << "told twice";
                    out[id] = false;
                }
                ++h.consumer;
                ++consumed;
            }
            h.awake = taken != 0 && dice.percent(50);  // else the doorbell arms, and it sleeps
            bench.db = {h.consumer, h.cfg.eq | DINGO_DB_EQ << 24 | unsigned{!h.awake} << 28};
        }
        bench.clock();
        for (const unsigned vector : bench.vectors) {
            vector0 += vector == 0;
            for (Host& h : hosts) {
                h.awake = h.awake || vector == h.cfg.vector;
            }
        }
        bench.vectors.clear();
    }
    EXPECT_EQ(consumed, posted) << "an event is lost, or the host was not woken for it";
    EXPECT_GT(bench.counted[DINGO_CARD_EQ_OVERFLOW], 100u) << "nothing had to wait";
    EXPECT_EQ(bench.counted[DINGO_CARD_DB_DROPPED], 0u);
    EXPECT_GT(consumed, 1000u);
    EXPECT_GT(vector0, 0u);
    EXPECT_LE(vector0, admin);
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlEqFlow, testing::Values(0, 30, 70));

TEST(RtlEqTable, WhenItIsFullEventsAreDroppedAndCounted) {
    EqBench bench(1);
    EqConfig cfg{true, 3, true, 5, 0, {}};
    cfg.mem = bench.host.make_ring(0, 64);
    bench.configure(cfg);
    // Round 0: one entry in the ring, 64 in the table, 10 without room. Round 1 repeats ids 0 to
    // 64: those that wait already are not counted.
    for (unsigned round = 0; round < 2; ++round) {
        for (std::uint32_t id = 0; id < (round == 0 ? 75u : 65u); ++id) {
            bench.events[id % 4] = Event{DINGO_EV_QP_FATAL, id, id};
            bench.settle();
        }
    }
    // Id 0 is in the ring and does not wait, so its repetition needs a place in the table: none.
    EXPECT_EQ(bench.counted[DINGO_CARD_EQ_OVERFLOW], 64u + 10u + 1u);
    for (std::uint32_t id = 0; id < 65; ++id) {
        ASSERT_EQ(bench.host.load(cfg.mem.addr + 4, 4), id);
        bench.db = {id + 1, 3u | DINGO_DB_EQ << 24};
        bench.settle();
    }
    EXPECT_EQ(bench.host.writes(), 65u);
    // Events forgotten from the middle of the table leave no holes in it.
    for (int round = 0; round < 5; ++round) {
        const std::uint64_t before = bench.host.writes();
        const auto first = static_cast<std::uint32_t>(before);
        for (std::uint32_t id = 0; id < 60; ++id) {
            bench.events[0] = Event{DINGO_EV_QP_REQ_ERR, id, 0};
            bench.settle();
        }
        for (std::uint32_t id = 1; id < 60; id += 2) {
            bench.forget({DINGO_EV_QP_FATAL, id, 0});
            bench.settle();
        }
        for (std::uint32_t i = 0; i < 30; ++i) {
            ASSERT_EQ(bench.host.load(cfg.mem.addr + 4, 4), 2 * i);
            bench.db = {first + i + 1, 3u | DINGO_DB_EQ << 24};
            bench.settle();
        }
        ASSERT_EQ(bench.host.writes(), before + 30);
    }
    EXPECT_EQ(bench.counted[DINGO_CARD_DB_DROPPED], 0u);
}

// After DEVICE_FATAL no other event is written, not even a second DEVICE_FATAL.
TEST(RtlEqFatal, TheLastEventIsThatOfTheCard) {
    EqBench bench(1);
    EqConfig cfg{true, 2, true, 9, 3, {}};
    cfg.mem = bench.host.make_ring(0, 16 << 3);
    bench.configure(cfg);
    bench.db = {0, 2u | DINGO_DB_EQ << 24 | DINGO_DOORBELL_WORD0_ARM_MASK};
    bench.settle();
    bench.dut.fatal_valid_i = 1;
    bench.dut.fatal_code_i = DINGO_FATAL_ADMIN_BUS;
    bench.clock();
    bench.settle();
    EXPECT_EQ(bench.host.load(cfg.mem.addr, 8), std::uint64_t{DINGO_EV_DEVICE_FATAL});
    EXPECT_EQ(bench.host.load(cfg.mem.addr + 8, 8), 1ull << 56 | DINGO_FATAL_ADMIN_BUS);
    EXPECT_EQ(bench.vectors, std::vector{9u});
    bench.events[1] = Event{DINGO_EV_QP_FATAL, 1, 0};
    bench.completion = {2, 1};
    bench.dut.fatal_valid_i = 1;
    bench.clock();
    bench.settle();
    EXPECT_EQ(bench.host.writes(), 1u);
}

}  // namespace
