// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_pause_queue: a resume lets out each QP that waits, once; a QP that is pushed after it waits
// for the next resume.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "Vdingo_pause_queue.h"

namespace {

class PauseQueue : public testing::Test {
  protected:
    PauseQueue() {
        dut.rst_ni = 0;
        tick();
        dut.rst_ni = 1;
        for (unsigned i = 0; i < 100 && !dut.ready_o; ++i)
            tick();
    }
    void tick() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }
    Vdingo_pause_queue dut;
};

TEST_F(PauseQueue, AllThatWaitComeOutOnceAndThoseThatComeBackDoNot) {
    std::mt19937 random(5);
    std::deque<unsigned> model;
    std::size_t left = 0;
    unsigned came = 0;
    ASSERT_TRUE(dut.ready_o);
    for (unsigned i = 0; i < 50'000; ++i) {
        dut.push_i = random() % 100 < 20;
        dut.push_qp_i = random() % 32;
        dut.resume_i = random() % 100 < 2;
        dut.take_i = random() % 2;
        dut.eval();
        ASSERT_EQ(dut.valid_o, left != 0);
        const std::size_t waiting = model.size();
        if (dut.valid_o) {
            ASSERT_EQ(dut.qp_o, model.front());
        }
        const bool taken = dut.valid_o && dut.take_i;
        if (taken) {
            model.pop_front();
            ++came;
        }
        left = (dut.resume_i ? waiting : left) - (taken ? 1 : 0);
        if (dut.push_i && std::find(model.begin(), model.end(), dut.push_qp_i) == model.end())
            model.push_back(dut.push_qp_i);
        tick();
    }
    EXPECT_GT(came, 1000U);
}

TEST_F(PauseQueue, NobodyComesOutByItself) {
    dut.push_i = 1;
    dut.push_qp_i = 3;
    tick();
    dut.push_i = 0;
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_FALSE(dut.valid_o);
        tick();
    }
    dut.resume_i = 1;
    tick();
    dut.resume_i = 0;
    EXPECT_TRUE(dut.valid_o);
    EXPECT_EQ(dut.qp_o, 3);
}

}  // namespace
