// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_qp_fifo: each QP is in it at most once, and QPs come out in the order of first pushes.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "Vdingo_qp_fifo.h"

namespace {

TEST(QpFifo, HoldsEachQpOnceAndForgetsNone) {
    Vdingo_qp_fifo dut;
    std::mt19937 random(3);
    std::deque<unsigned> model;
    const auto tick = [&] {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    };
    dut.rst_ni = 0;
    tick();
    dut.rst_ni = 1;
    for (unsigned i = 0; i < 100 && !dut.ready_o; ++i)
        tick();
    ASSERT_TRUE(dut.ready_o);
    for (unsigned i = 0; i < 50'000; ++i) {
        const bool push = random() % 100 < (i / 1000 % 2 == 0 ? 70U : 20U);
        dut.push_i = push;
        dut.push_qp_i = random() % 32;
        dut.pop_i = random() % 2;
        dut.eval();
        ASSERT_EQ(dut.valid_o, !model.empty());
        if (dut.valid_o) {
            ASSERT_EQ(dut.qp_o, model.front());
            if (dut.pop_i)
                model.pop_front();
        }
        // A QP that is pushed in the cycle in which it is popped comes again.
        if (push && std::find(model.begin(), model.end(), dut.push_qp_i) == model.end())
            model.push_back(dut.push_qp_i);
        ASSERT_LE(model.size(), 32U);
        tick();
    }
}

}  // namespace
