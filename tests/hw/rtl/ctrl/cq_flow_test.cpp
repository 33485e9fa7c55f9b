// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_cq under load: many entries are on their way, while the host polls, consumes and arms.
#include <gtest/gtest.h>

#include "cq_bench.h"

namespace {

using namespace dingo::rtl;

/// Driver's view of a CQ, from host memory and events only.
struct Driver {
    CqConfig cfg;
    std::uint32_t consumer = 0;
    unsigned arm_sn = 0;
    bool waiting = false;  ///< armed, and the event has not come
    bool armed_solicited = false;
    unsigned after =
        0;  ///< entries taken since the CQ was armed (solicited ones, if armed for those)
    std::array<std::deque<Cqe>, 4> expected;  ///< entries not yet seen, per client
    std::uint32_t rung = 0;                   ///< consumer index that the card knows
};

class RtlCqFlow : public testing::TestWithParam<int> {};

TEST_P(RtlCqFlow, NoEntryIsLostAndNoWaiterSleepsForEver) {
    const unsigned stall = static_cast<unsigned>(GetParam());
    CqBench bench(stall + 1);
    Dice& dice = bench.dice;
    bench.host.stall_percent = stall;
    bench.host.latency = 1 + stall;
    bench.willing = 100 - stall;
    std::array<Driver, kCqs> drivers;
    std::uint32_t next = 0;
    for (unsigned cq = 0; cq < kCqs; ++cq) {
        Driver& d = drivers[cq];
        d.cfg = {true, false, cq, cq, cq * 3, 4 + cq % 5, {}};
        d.cfg.mem = bench.host.make_ring(cq % 3, 32ull << d.cfg.log_size);
        bench.configure(d.cfg);
    }
    std::array<std::optional<Cqe>, 4> offered;
    unsigned bell_cq = 0;  // bell_*: the doorbell that is offered
    std::uint32_t bell_word0 = 0;
    std::uint32_t bell_index = 0;
    std::pair<unsigned, std::uint32_t> before{};  // the doorbell that was taken last: CQ, index
    unsigned events = 0;
    unsigned entries = 0;
    const int cycles = 60'000;
    for (int cycle = 0; cycle < cycles + 3000 && !HasFatalFailure(); ++cycle) {
        for (unsigned c = 0; c < 4; ++c) {
            if (!bench.cqe[c] && cycle < cycles && dice.percent(40)) {
                Cqe e = random_cqe(dice, c);
                e.status = dice.percent(95) ? 0 : 5;
                Driver& d = drivers[e.cq];
                std::size_t in_ring = 0;
                for (const auto& queue : d.expected) {
                    in_ring += queue.size();
                }
                for (const auto& other : offered) {
                    in_ring += other && other->cq == e.cq;
                }
                if (d.consumer - d.rung + in_ring <
                    1u << d.cfg.log_size) {  // keeps the CQ from overflowing
                    e.wqe_index = next++;
                    bench.cqe[c] = offered[c] = e;
                }
            }
        }
        // The host polls one CQ a cycle.
        Driver& d = drivers[dice.below(kCqs)];
        bool more = dice.percent(80);
        while (more) {
            const auto got = bench.entry(d.cfg, d.consumer & ((1u << d.cfg.log_size) - 1));
            const unsigned phase = (d.consumer >> d.cfg.log_size & 1) == 0;
            more = false;
            // A new ring is all 0, which is not the first phase: no entry.
            if ((got[3] >> 56) == phase) {
                bool found = false;
                for (auto& queue : d.expected) {
                    if (!queue.empty() && queue.front().wqe_index == (got[0] & 0xffffffff)) {
                        ASSERT_EQ(got[1] & 0xffffffff, queue.front().imm);
                        queue.pop_front();
                        found = true;
                        break;
                    }
                }
                ASSERT_TRUE(found) << "an entry that nobody posted, or out of its client's order";
                ++d.consumer;
                ++entries;
                more = dice.percent(70);
            }
        }
        if (!bench.db && dice.percent(30)) {
            std::uint32_t word0 = d.cfg.cq | DINGO_DB_CQ << 24 | d.arm_sn << 29;
            if (!d.waiting && dice.percent(60)) {
                word0 = (word0 & ~(3u << 29)) | ((d.arm_sn + 1) & 3) << 29 | dice.below(2) << 28;
            }
            bench.db = {d.cfg.page, d.consumer, word0};
            bell_cq = d.cfg.cq;
            bell_index = d.consumer;
            bell_word0 = word0;
        }
        bench.clock();
        for (unsigned c = 0; c < 4; ++c) {
            if (bench.took_cqe[c]) {
                Driver& owner = drivers[offered[c]->cq];
                owner.expected[c].push_back(*offered[c]);
                owner.after += owner.waiting && (!owner.armed_solicited || offered[c]->solicited());
                offered[c].reset();
            }
        }
        while (!bench.completions.empty()) {
            Driver& told = drivers[bench.completions.front().second];
            ASSERT_EQ(bench.completions.front().first, told.cfg.eq);
            ASSERT_TRUE(told.waiting) << "an event for a CQ that is not armed";
            told.waiting = false;
            ++events;
            bench.completions.pop_front();
        }
        if (bench.took_db) {
            // dingo_cq takes one doorbell at a time, so the one before has had its effect.
            drivers[before.first].rung = before.second;
            before = {bell_cq, bell_index};
            Driver& armed = drivers[bell_cq];
            const unsigned sn = bell_word0 >> 29 & 3;
            if (sn != armed.arm_sn) {
                armed.arm_sn = sn;
                armed.waiting = true;
                armed.armed_solicited = (bell_word0 >> 28 & 1) != 0;
                armed.after = 0;
            }
        }
    }
    bench.settle();
    ASSERT_EQ(bench.counted[DINGO_CARD_CQ_OVERFLOW], 0u);
    EXPECT_EQ(bench.counted[DINGO_CARD_DB_DROPPED], 0u)
        << "a doorbell for entries that the host has seen was dropped";
    ASSERT_TRUE(bench.completions.empty());
    for (Driver& d : drivers) {
        if (d.waiting) {
            ASSERT_EQ(d.after, 0u)
                << "CQ " << d.cfg.cq << " has entries since it was armed, and no event";
        }
        for (const auto& queue : d.expected) {
            ASSERT_TRUE(queue.empty()) << "an entry did not reach host memory";
        }
    }
    EXPECT_TRUE(bench.fails.empty());
    EXPECT_GT(entries, 1000u);
    EXPECT_GT(events, 200u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlCqFlow, testing::Values(0, 10, 50, 80));

TEST(RtlCqSpeed, AnEntryEveryFourCycles) {
    CqBench bench(1);
    bench.host.latency = 30;
    CqConfig cfg{.cq = 1, .log_size = 10, .mem = {}};
    cfg.mem = bench.host.make_ring(0, 32 << 10);
    bench.configure(cfg);
    unsigned taken = 0;
    unsigned cycles = 0;
    bench.host.latency = 1;
    for (; taken < 1000 && cycles < 10'000; ++cycles) {
        for (unsigned c = 0; c < 4; ++c) {
            if (!bench.cqe[c]) {
                bench.cqe[c] = random_cqe(bench.dice, c);
                bench.cqe[c]->cq = 1;
            }
        }
        bench.clock();
        for (const bool took : bench.took_cqe) {
            taken += took;
        }
    }
    EXPECT_LE(cycles, 4 * taken) << taken << " entries";
}

// Twelve entries are on their way when the host refuses the fifth: it and all behind it fail.
TEST(RtlCqErrors, EntriesBehindARefusedOneFailToo) {
    CqBench bench(1);
    CqConfig cfg{.cq = 1, .log_size = 6, .mem = {}};
    cfg.mem = bench.host.make_ring(1, 32 << 6);
    bench.configure(cfg);
    bench.host.latency = 40;
    bench.host.bad_lines.insert(bench.host.address(cfg.mem, 4 * 32));  // slots 4 and 5
    unsigned posted = 0;
    for (int cycle = 0; cycle < 2000 && posted < 12; ++cycle) {
        if (!bench.cqe[1]) {
            bench.cqe[1] = random_cqe(bench.dice, 1);
            bench.cqe[1]->cq = 1;
            bench.cqe[1]->qp = 7;
        }
        bench.clock();
        posted += bench.took_cqe[1];
    }
    bench.cqe[1].reset();
    bench.settle();
    EXPECT_EQ(posted, 12u);
    EXPECT_EQ(bench.fails.size(), 8u) << "slots 0 to 3 are good, the others are not";
    EXPECT_EQ(bench.errors.size(), 1u);
    for (const auto& [client, qp] : bench.fails) {
        EXPECT_EQ(client, 1u);
        EXPECT_EQ(qp, 7u);
    }
    // A new CQ with this number starts without the error.
    bench.host.bad_lines.clear();
    bench.configure(cfg);
    bench.fails.clear();
    bench.cqe[1] = random_cqe(bench.dice, 1);
    bench.cqe[1]->cq = 1;
    bench.settle();
    EXPECT_TRUE(bench.fails.empty());
    EXPECT_EQ(bench.entry(cfg, 0)[3] >> 56, 1u);
}

}  // namespace
