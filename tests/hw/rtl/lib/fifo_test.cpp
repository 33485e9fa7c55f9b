// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_fifo: order and bounds while both sides stall at random.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>

#include "Vdingo_fifo.h"

namespace {

class Fifo : public testing::TestWithParam<std::pair<int, int>> {
  protected:
    void clock() {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
    }
    Vdingo_fifo dut;
};

/// Parameters: percent of the cycles with valid_i, and with ready_i.
TEST_P(Fifo, KeepsOrderAndNeverOverflows) {
    const auto [push_percent, pop_percent] = GetParam();
    std::mt19937 random(1);
    std::deque<std::uint32_t> expected;
    dut.rst_ni = 0;
    clock();
    dut.rst_ni = 1;
    std::uint32_t next = 0;
    unsigned most = 0;
    for (int cycle = 0; cycle < 20'000; ++cycle) {
        dut.valid_i = static_cast<int>(random() % 100) < push_percent;
        dut.ready_i = static_cast<int>(random() % 100) < pop_percent;
        dut.data_i = next;
        dut.clk_i = 0;
        dut.eval();
        ASSERT_EQ(dut.count_o, expected.size());
        ASSERT_EQ(dut.valid_o != 0, !expected.empty());
        ASSERT_EQ(dut.ready_o != 0, expected.size() < 8);
        const bool push = dut.valid_i && dut.ready_o;
        const bool pop = dut.valid_o && dut.ready_i;
        if (pop) {
            ASSERT_EQ(dut.data_o, expected.front());
            expected.pop_front();
        }
        if (push) {
            expected.push_back(next++);
        }
        most = std::max<unsigned>(most, static_cast<unsigned>(expected.size()));
        dut.clk_i = 1;
        dut.eval();
    }
    EXPECT_GT(next, 1'000u);
    if (push_percent > pop_percent) {
        EXPECT_EQ(most, 8u) << "never full: the test proves nothing about overflow";
    }
}

INSTANTIATE_TEST_SUITE_P(Stalls, Fifo,
                         testing::Values(std::pair{100, 100}, std::pair{90, 20}, std::pair{20, 90},
                                         std::pair{50, 50}));

}  // namespace
