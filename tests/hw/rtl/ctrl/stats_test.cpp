// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_stats: each step counts exactly once, with any sources in the same cycle.
#include <gtest/gtest.h>

#include <array>

#include "Vdingo_stats.h"
#include "bench.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kStats = 13;
constexpr unsigned kQstats = 4;
constexpr unsigned kLog = 4;
constexpr unsigned kQps = 1 << kLog;
constexpr unsigned kQstat = 20 + kLog;

struct Bench {
    Vdingo_stats dut;
    Dice dice{1};
    std::array<std::uint64_t, 64> card{};
    std::array<std::array<std::uint64_t, 16>, kQps> qp{};
    std::array<std::pair<unsigned, unsigned>, kStats> stat{};
    std::array<std::array<unsigned, 3>, kQstats> qstat{};
    unsigned valid = 0;  // bit per source: it offers a step
    unsigned qvalid = 0;

    void clock() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }
    void reset() {
        valid = qvalid = 0;
        dut.stat_valid_i = dut.qstat_valid_i = 0;
        dut.clear_valid_i = dut.read_valid_i = 0;
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
        card.fill(0);
    }
    /// One cycle, in which every idle source offers a step with this probability. Half of the steps
    /// are for one counter, so that sources collide.
    void step(unsigned percent) {
        Bits all;
        for (unsigned i = 0; i < kStats; ++i) {
            if ((valid >> i & 1) == 0 && dice.percent(percent)) {
                valid |= 1u << i;
                stat[i] = {dice.percent(50) ? dice.below(64) : 7, dice.below(65536)};
            }
            all.add(stat[i].second, 16);
            all.add(stat[i].first, 6);
        }
        Bits qall;
        for (unsigned i = 0; i < kQstats; ++i) {
            if ((qvalid >> i & 1) == 0 && dice.percent(percent)) {
                qvalid |= 1u << i;
                qstat[i] = {dice.percent(50) ? dice.below(kQps) : 3,
                            dice.percent(50) ? dice.below(16) : 1, dice.below(65536)};
            }
            qall.add(qstat[i][2], 16);
            qall.add(qstat[i][1], 4);
            qall.add(qstat[i][0], kLog);
        }
        dut.stat_valid_i = valid;
        dut.qstat_valid_i = qvalid;
        drive(dut.stat_i, all);
        drive(dut.qstat_i, qall);
        dut.eval();
        for (unsigned i = 0; i < kStats; ++i) {
            if ((valid & dut.stat_ready_o) >> i & 1) {
                card[stat[i].first] += stat[i].second;
            }
        }
        for (unsigned i = 0; i < kQstats; ++i) {
            if ((qvalid & dut.qstat_ready_o) >> i & 1) {
                qp[qstat[i][0]][qstat[i][1]] += qstat[i][2];
            }
        }
        valid &= ~dut.stat_ready_o;
        qvalid &= ~dut.qstat_ready_o;
        clock();
    }
    void settle() {
        for (int i = 0; i < 400 && (valid != 0 || qvalid != 0 || !dut.idle_o); ++i) {
            step(0);
        }
        ASSERT_TRUE(dut.idle_o);
    }
    std::uint64_t read(bool of_qp, unsigned q, unsigned idx) {
        dut.read_valid_i = 1;
        dut.read_qp_i = of_qp;
        dut.read_qpi_i = q;
        dut.read_idx_i = idx;
        dut.eval();
        for (int i = 0; i < 400 && !dut.read_ready_o; ++i) {
            clock();
        }
        EXPECT_TRUE(dut.read_ready_o);
        clock();
        dut.read_valid_i = 0;
        EXPECT_TRUE(dut.value_valid_o);
        const std::uint64_t value = dut.value_o;
        clock();
        EXPECT_FALSE(dut.value_valid_o);
        return value;
    }
    void clear(unsigned q) {
        dut.clear_valid_i = 1;
        dut.clear_qp_i = q;
        dut.eval();
        for (int i = 0; i < 400 && !dut.clear_ready_o; ++i) {
            clock();
        }
        EXPECT_TRUE(dut.clear_ready_o);
        clock();
        dut.clear_valid_i = 0;
        qp[q].fill(0);
    }
};

TEST(RtlStats, EveryStepIsCountedOnce) {
    Bench bench;
    for (int round = 0; round < 3; ++round) {
        bench.reset();
        for (unsigned q = 0; q < kQps; ++q) {
            bench.clear(q);
        }
        for (const unsigned percent : {100u, 30u, 3u}) {
            for (int i = 0; i < 3000; ++i) {
                bench.step(percent);
            }
            // QP 3 is created anew: its counters start at 0
            bench.settle();
            ASSERT_FALSE(testing::Test::HasFatalFailure());
            bench.clear(3);
            bench.settle();
            for (unsigned i = 0; i < 64; ++i) {
                ASSERT_EQ(bench.read(false, 0, i), bench.card[i]) << "card counter " << i;
            }
            for (unsigned q = 0; q < kQps; ++q) {
                for (unsigned i = 0; i < 16; ++i) {
                    ASSERT_EQ(bench.read(true, q, i), bench.qp[q][i])
                        << "QP " << q << " counter " << i;
                }
            }
        }
    }
}

/// An even and an odd counter count in the same cycle: two sources get nearly two steps a cycle.
TEST(RtlStats, EvenAndOddCountersOfTheCardCountBesideEachOther) {
    Bench bench;
    bench.reset();
    bench.settle();
    unsigned taken = 0;
    for (int i = 0; i < 200; ++i) {
        Bits all;
        for (unsigned s = 0; s < kStats; ++s) {
            all.add(1, 16);
            all.add(s, 6);
        }
        bench.dut.stat_valid_i = 3;  // counters 0 and 1
        drive(bench.dut.stat_i, all);
        bench.dut.eval();
        taken += (bench.dut.stat_ready_o & 1) + (bench.dut.stat_ready_o >> 1 & 1);
        bench.clock();
    }
    EXPECT_GE(taken, 395U);
}

TEST(RtlStats, ReadsAndClearsDisturbNoOtherQp) {
    Bench bench;
    bench.reset();
    for (unsigned q = 0; q < kQps; ++q) {
        bench.clear(q);
    }
    for (int i = 0; i < 20'000; ++i) {
        if (bench.dice.percent(3)) {
            bench.dut.read_valid_i = 1;
            bench.dut.read_qp_i = bench.dice.below(2);
            bench.dut.read_qpi_i = bench.dice.below(kQps);
            bench.dut.read_idx_i = bench.dice.below(16);
        } else {
            bench.dut.read_valid_i = 0;
        }
        bench.step(40);
        if (i % 64 == 63) {
            bench.dut.read_valid_i = 0;
            bench.settle();
            ASSERT_FALSE(testing::Test::HasFatalFailure());
            bench.clear(bench.dice.below(kQps));
        }
    }
    bench.dut.read_valid_i = 0;
    bench.settle();
    for (unsigned q = 0; q < kQps; ++q) {
        for (unsigned i = 0; i < 16; ++i) {
            ASSERT_EQ(bench.read(true, q, i), bench.qp[q][i]) << "QP " << q << " counter " << i;
        }
    }
    for (unsigned i = 0; i < 64; ++i) {
        ASSERT_EQ(bench.read(false, 0, i), bench.card[i]);
    }
}

}  // namespace
