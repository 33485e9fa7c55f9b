// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_timers: no deadline is missed, and next_o is never later than the earliest deadline.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "Vdingo_timers.h"

namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr unsigned kTimers = 32;

class Timers : public testing::TestWithParam<unsigned> {
  protected:
    Timers() : random(GetParam()) {
        deadlines.fill(kNever);
        dut.rst_ni = 0;
        tick();
        dut.rst_ni = 1;
        for (unsigned i = 0; i < 100 && !dut.ready_o; ++i)
            tick();
    }
    void tick() {
        dut.now_ns_i = now;
        dut.clk_i = 0;
        dut.eval();
        if (dut.due_valid_o && dut.due_ready_i)
            fired = dut.due_index_o;
        dut.clk_i = 1;
        dut.eval();
        now += 4;
    }
    void set(unsigned qp, std::uint64_t at) {
        deadlines[qp] = at;
        dut.set_i = 1;
        dut.set_index_i = qp;
        dut.set_ns_i = at;
        tick();
        dut.set_i = 0;
    }
    std::uint64_t earliest() const { return *std::min_element(deadlines.begin(), deadlines.end()); }

    Vdingo_timers dut;
    std::mt19937 random;
    std::array<std::uint64_t, kTimers> deadlines{};
    std::uint64_t now = 1000;
    int fired = -1;
};

TEST_P(Timers, FireSoonAfterTheirTimeAndNeverLateInWhatIsAnnounced) {
    ASSERT_TRUE(dut.ready_o);
    unsigned count = 0;
    for (unsigned i = 0; i < 30'000; ++i) {
        dut.due_ready_i = random() % 3 == 0;
        if (random() % 20 == 0)
            set(random() % kTimers, random() % 5 == 0 ? kNever : now + random() % 3000);
        else
            tick();
        if (earliest() != kNever) {
            ASSERT_TRUE(dut.valid_o);
            ASSERT_LE(dut.next_o, earliest());
        }
        if (fired >= 0) {
            const auto qp = static_cast<unsigned>(fired);
            fired = -1;
            dut.due_ready_i = 0;
            // due_* may report a deadline that was replaced: the owner compares its own copy.
            if (deadlines[qp] <= now) {
                ++count;
                set(qp, random() % 2 == 0 ? kNever : now + random() % 3000);
            } else {
                set(qp, deadlines[qp]);
            }
        }
        for (const std::uint64_t at : deadlines)
            ASSERT_TRUE(at == kNever || now < at + 4000) << "missed";
    }
    EXPECT_GT(count, 300U);
    // Without deadlines, valid_o falls after the next scan.
    dut.due_ready_i = 1;
    for (unsigned qp = 0; qp < kTimers; ++qp)
        set(qp, kNever);
    now += 100'000;
    for (unsigned i = 0; i < 1000; ++i)
        tick();
    EXPECT_FALSE(dut.valid_o);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Timers, testing::Range(1U, 5U));

}  // namespace
