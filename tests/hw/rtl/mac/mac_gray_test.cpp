// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac_gray: a number passes two registers of the other clock, not fewer, as the first one may
// be metastable.
#include <gtest/gtest.h>

#include "Vdingo_mac_gray.h"

namespace dingo::rtl {
namespace {

TEST(MacGray, ANumberPassesTwoRegistersAndChangesOneBit) {
    Vdingo_mac_gray dut;
    const auto edge = [&](auto& clock) {
        dut.eval();
        clock = 1;
        dut.eval();
        clock = 0;
        dut.eval();
    };
    for (unsigned n = 1; n < 600; ++n) {
        dut.step_i = 1;
        edge(dut.from_clk_i);
        dut.step_i = 0;
        EXPECT_EQ(dut.here_o, n % 256);
        EXPECT_EQ(dut.there_o, (n - 1) % 256);
        edge(dut.to_clk_i);
        EXPECT_EQ(dut.there_o, (n - 1) % 256) << "after one register";
        edge(dut.to_clk_i);
        EXPECT_EQ(dut.there_o, n % 256);
    }
    dut.clear_i = 1;
    edge(dut.from_clk_i);
    EXPECT_EQ(dut.here_o, 0u);
}

}  // namespace
}  // namespace dingo::rtl
