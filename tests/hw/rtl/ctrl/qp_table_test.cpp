// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_qp_table: a read of each of the four readers gives, in the next cycle, context and state as
// last written, and holds them until the reader's next read.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "Vdingo_qp_table.h"
#include "bench.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kLog = 4;
constexpr unsigned kQps = 1 << kLog;
constexpr unsigned kCfg = 654 + 2 * 3 + 2 + 2;  // QP_CFG_W with CQ_LOG 3, GID_LOG 2, SRQ_LOG 2

Bits random_bits(Dice& dice, unsigned width) {
    Bits bits;
    for (unsigned i = 0; i < width; i += 64) {
        bits.add(dice.any(), std::min(64u, width - i));
    }
    return bits;
}

TEST(RtlQpTable, ReadersSeeContextAndStateOfTheCycleBefore) {
    Vdingo_qp_table dut;
    Dice dice(1);
    std::array<Bits, kQps> cfg;
    std::array<unsigned, kQps> state{};
    std::array<bool, kQps> written{};  // since reset
    std::array<std::optional<Bits>, 4> held;
    std::array<bool, 4> known{};
    const auto clock = [&] {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    };
    // The second round begins with a reset: all QPs are invalid again.
    for (int round = 0; round < 2; ++round) {
        dut.rst_ni = 0;
        dut.we_i = 0;
        dut.state_we_i = 0;
        dut.re_i = 0;
        clock();
        dut.rst_ni = 1;
        unsigned wait = 0;
        for (; !dut.ready_o; ++wait) {
            ASSERT_LE(wait, kQps + 2);
            clock();
        }
        written.fill(false);
        known.fill(false);
        for (int cycle = 0; cycle < 5000; ++cycle) {
            dut.re_i = static_cast<unsigned>(dice.below(16));
            std::array<unsigned, 4> addr{};
            Bits addrs;
            for (unsigned& a : addr) {
                a = dice.below(kQps);
                addrs.add(a, kLog);
            }
            drive(dut.raddr_i, addrs);
            dut.we_i = dice.percent(30);
            dut.windex_i = dice.below(kQps);
            const Bits data = random_bits(dice, kCfg);
            drive(dut.wdata_i, data);
            std::array<unsigned, 3> index{};
            std::array<unsigned, 3> value{};
            Bits indexes;
            Bits values;
            dut.state_we_i = dice.below(4) * 2 + dut.we_i;
            for (unsigned w = 0; w < 3; ++w) {
                index[w] = dice.below(kQps);
                if (w == 0)
                    index[w] = dut.windex_i;  // commands write context and state
                else if (!written[index[w]])
                    dut.state_we_i &= ~(1U << w);
                value[w] = dice.below(7);
                for (unsigned v = 0; v < w; ++v) {
                    if (index[v] == index[w]) {
                        value[w] = value[v];
                    }
                }
                indexes.add(index[w], kLog);
                values.add(value[w], 3);
            }
            drive(dut.state_index_i, indexes);
            drive(dut.state_i, values);
            for (unsigned r = 0; r < 4; ++r) {
                if ((dut.re_i >> r & 1) != 0) {
                    held[r].reset();
                    if (written[addr[r]]) {
                        held[r] = cfg[addr[r]];
                        held[r]->add(state[addr[r]], 3);
                    }
                    known[r] = true;
                }
            }
            clock();
            if (dut.we_i) {
                cfg[dut.windex_i] = data;
                written[dut.windex_i] = true;
            }
            for (unsigned w = 0; w < 3; ++w) {
                if ((dut.state_we_i >> w & 1) != 0) {
                    state[index[w]] = value[w];
                }
            }
            for (unsigned r = 0; r < 4; ++r) {
                const Bits got = sample(dut.rdata_o, r * (kCfg + 3), kCfg + 3);
                if (known[r] && held[r]) {
                    ASSERT_EQ(got, *held[r]) << "reader " << r;
                } else if (known[r]) {
                    ASSERT_EQ(got.get(kCfg - 1, 4), 0u) << "no QP, in RESET: reader " << r;
                }
            }
        }
    }
}

}  // namespace
