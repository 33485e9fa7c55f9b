// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_arb: at most one grant, only to a requester; a requester is passed over at most N-1 times.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>

#include "Vdingo_arb.h"

namespace {

TEST(Arbiter, GrantsOneOfThoseWhoAskAndIsFair) {
    constexpr unsigned kPorts = 5;
    Vdingo_arb dut;
    std::mt19937 random(1);
    std::array<unsigned, kPorts> waited{};
    dut.rst_ni = 0;
    dut.clk_i = 0;
    dut.eval();
    dut.clk_i = 1;
    dut.eval();
    dut.rst_ni = 1;
    unsigned pending = 0;
    for (int cycle = 0; cycle < 20'000; ++cycle) {
        pending |= random() & random() & 0x1f;
        dut.req_i = pending;
        dut.take_i = random() % 3 != 0;
        dut.clk_i = 0;
        dut.eval();
        const unsigned grant = dut.grant_o;
        ASSERT_EQ(grant & ~pending, 0u);
        ASSERT_EQ(std::popcount(grant), pending != 0 ? 1 : 0);
        if (dut.take_i && grant != 0) {
            pending &= ~grant;
            for (unsigned p = 0; p < kPorts; ++p) {
                waited[p] = (pending >> p & 1) != 0 ? waited[p] + 1 : 0;
                ASSERT_LT(waited[p], kPorts);
            }
        }
        dut.clk_i = 1;
        dut.eval();
    }
}

}  // namespace
