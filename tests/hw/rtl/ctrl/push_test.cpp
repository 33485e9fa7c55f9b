// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_push: the blocks that a doorbell names reach the WQE cache as they were written, each once
// and in order, and only for QPs of the doorbell's page.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "Vdingo_push.h"
#include "bench.h"
#include "dingo_hw.h"

namespace {

using namespace dingo::rtl;
constexpr unsigned kLog = 4;
constexpr unsigned kQps = 1 << kLog;
constexpr unsigned kPages = 64;
constexpr unsigned kCfg = 654 + 2 * 3 + 2 + 2;
constexpr unsigned kTagLsb = kCfg - 1 - 8;
// fields between tag and page: kind, pdn, send_cq, recv_cq
constexpr unsigned kPageLsb = kTagLsb - 3 - 16 - 3 - 3 - 10;

using Block = std::array<std::uint64_t, 8>;
struct Put {
    unsigned qp;
    std::uint32_t index;
    Block data;
    bool operator==(const Put&) const = default;
};
struct Entry {
    bool valid = false;
    unsigned tag = 0;
    unsigned page = 0;
};
struct Order {
    unsigned page;
    std::uint32_t qpn;
    std::uint32_t index;
    unsigned blocks;
};

struct Bench {
    Vdingo_push dut;
    Dice dice;
    unsigned willing;
    std::array<std::array<Block, DINGO_PUSH_BLOCKS>, kPages> pages{};
    std::array<Entry, kQps> qps;
    std::vector<Put> puts;
    std::uint64_t drops = 0;

    Bench(unsigned seed, unsigned percent) : dice(seed), willing(percent) {
        dut.rst_ni = dut.core_rst_ni = 0;
        clock();
        dut.rst_ni = dut.core_rst_ni = 1;
        for (unsigned i = 0; i < 2 * kQps; ++i)
            clock();
        for (unsigned page = 0; page < kPages; ++page)
            for (unsigned block = 0; block < DINGO_PUSH_BLOCKS; ++block)
                write(page, block * 64, ~std::uint64_t{0});
    }
    void clock() {
        dut.push_ready_i = dice.percent(willing);
        dut.clk_i = 0;
        dut.eval();
        drops += dut.drop_o;
        if (dut.push_valid_o && dut.push_ready_i) {
            Put put{};
            const Bits bits = sample(dut.push_o, 0, 512 + 32 + kLog);
            for (unsigned i = 0; i < 8; ++i)
                put.data[i] = bits.get(64 * i, 64);
            put.index = static_cast<std::uint32_t>(bits.get(512, 32));
            put.qp = static_cast<unsigned>(bits.get(544, kLog));
            puts.push_back(put);
        }
        dut.clk_i = 1;
        dut.eval();
    }
    /// Writes 64 random bytes; `strobes` enables each byte.
    void write(unsigned page, unsigned offset, std::uint64_t strobes) {
        Block data;
        Bits bits;
        for (std::uint64_t& word : data) {
            word = dice.any();
            bits.add(word, 64);
        }
        bool taken = false;
        dut.s_push_awaddr_i = page << 12 | offset;
        drive(dut.s_push_wdata_i, bits);
        dut.s_push_wstrb_i = strobes;
        for (int i = 0; i < 400; ++i) {
            dut.s_push_awvalid_i = !taken && dice.percent(willing);
            dut.s_push_wvalid_i = !taken && dice.percent(willing);
            dut.s_push_bready_i = dice.percent(willing);
            dut.clk_i = 0;
            dut.eval();
            ASSERT_EQ(dut.s_push_awready_o, dut.s_push_wready_o);
            taken = taken || dut.s_push_awready_o;
            const bool answered = dut.s_push_bvalid_o && dut.s_push_bready_i;
            clock();
            dut.s_push_awvalid_i = dut.s_push_wvalid_i = 0;
            if (answered) {
                ASSERT_TRUE(taken);
                dut.s_push_bready_i = 0;
                if (offset < DINGO_PUSH_BYTES)
                    for (unsigned n = 0; n < 8; ++n)
                        if ((strobes >> 8 * n & 0xff) == 0xff)
                            pages[page][offset / 64][n] = data[n];
                return;
            }
        }
        FAIL() << "no answer to a write";
    }
    void set_qp(unsigned index, const Entry& entry) {
        Bits cfg;
        for (unsigned i = 0; i < kCfg; ++i) {
            const bool in_page = i >= kPageLsb && i < kPageLsb + 10;
            const bool in_tag = i >= kTagLsb && i < kTagLsb + 8;
            cfg.add(i == kCfg - 1 ? entry.valid
                    : in_tag      ? entry.tag >> (i - kTagLsb) & 1
                    : in_page     ? entry.page >> (i - kPageLsb) & 1
                                  : dice.below(2),
                    1);
        }
        dut.qp_we_i = 1;
        dut.qp_windex_i = index;
        drive(dut.qp_wdata_i, cfg);
        clock();
        dut.qp_we_i = 0;
        qps[index] = entry;
    }
    /// Runs an order until it is done; returns the blocks that it has put into the cache.
    std::vector<Put> run(const Order& order) {
        puts.clear();
        drive(dut.order_i,
              Bits{{order.page, 6}, {order.qpn, 24}, {order.index, 32}, {order.blocks, 3}});
        dut.order_valid_i = 1;
        for (int i = 0; i < 400; ++i) {
            // A write is offered all the time and must not be taken during an order.
            dut.s_push_awvalid_i = dut.s_push_wvalid_i = 1;
            dut.clk_i = 0;
            dut.eval();
            EXPECT_FALSE(dut.s_push_awready_o);
            const bool done = dut.order_done_o;
            clock();
            if (done) {
                dut.order_valid_i = dut.s_push_awvalid_i = dut.s_push_wvalid_i = 0;
                clock();
                return puts;
            }
        }
        ADD_FAILURE() << "an order without an end";
        return {};
    }
    std::vector<Put> expected(const Order& order) const {
        const unsigned index = order.qpn & 0xffff;
        if (index >= kQps || !qps[index].valid || qps[index].tag != order.qpn >> 16 ||
            qps[index].page != order.page)
            return {};
        std::vector<Put> all;
        for (unsigned i = 0; i < order.blocks; ++i)
            all.push_back({index, order.index - order.blocks + i, pages[order.page][i]});
        return all;
    }
};

class RtlPush : public testing::TestWithParam<int> {};

TEST_P(RtlPush, BlocksGoToTheCacheOfTheirQpOnly) {
    Bench bench(3, static_cast<unsigned>(GetParam()));
    Dice& dice = bench.dice;
    unsigned met = 0, foreign = 0;
    for (int step = 0; step < 4'000 && !HasFatalFailure(); ++step) {
        const unsigned what = dice.below(10);
        if (what < 2) {
            bench.set_qp(dice.below(kQps), {dice.percent(80), dice.below(3), dice.below(4)});
        } else if (what < 6) {
            std::uint64_t strobes = 0;
            for (unsigned i = 0; i < 8; ++i)
                strobes |= dice.percent(70) ? std::uint64_t{0xff} << 8 * i : 0;
            bench.write(dice.below(4), dice.below(DINGO_PUSH_BLOCKS) * 64, strobes);
        } else {
            const unsigned index = dice.percent(95) ? dice.below(kQps) : dice.below(65536);
            const Order order{
                dice.below(4), dice.below(3) << 16 | index,
                dice.percent(50) ? dice.below(6) : static_cast<std::uint32_t>(dice.any()),
                1 + dice.below(DINGO_PUSH_BLOCKS)};
            const auto expected = bench.expected(order);
            ASSERT_EQ(bench.run(order), expected) << step;
            met += !expected.empty();
            foreign += expected.empty();
        }
    }
    EXPECT_GT(met, 50u);
    EXPECT_GT(foreign, 50u);
    EXPECT_EQ(bench.drops, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, RtlPush, testing::Values(100, 50, 20));

TEST(RtlPushRules, WhatIsNotMemoryIsDropped) {
    Bench bench(1, 70);
    bench.set_qp(3, {true, 1, 2});
    bench.write(2, DINGO_PUSH_BYTES, ~std::uint64_t{0});
    bench.write(2, 4096 - 64, ~std::uint64_t{0});
    bench.write(2, 64, 0x0f);  // half a word
    EXPECT_EQ(bench.drops, 3u);
    const Order order{2, 1 << 16 | 3, 9, 4};
    EXPECT_EQ(bench.run(order), bench.expected(order));
}

TEST(RtlPushRules, WhileDoorbellsAreHaltedNothingIsPut) {
    Bench bench(1, 100);
    bench.set_qp(3, {true, 1, 2});
    const Order order{2, 1 << 16 | 3, 9, 4};
    bench.dut.halt_i = 1;
    EXPECT_TRUE(bench.run(order).empty());
    bench.dut.halt_i = 0;
    EXPECT_EQ(bench.run(order), bench.expected(order));
}

TEST(RtlPushRules, AResetForgetsTheQpsAndKeepsTheBusGoing) {
    Bench bench(1, 100);
    bench.set_qp(3, {true, 1, 2});
    const Order order{2, 1 << 16 | 3, 9, 1};
    bench.dut.core_rst_ni = 0;
    bench.write(2, 0, ~std::uint64_t{0});
    bench.clock();
    bench.dut.core_rst_ni = 1;
    EXPECT_TRUE(bench.run(order).empty()) << "its table is not cleared yet";
    for (unsigned i = 0; i < 2 * kQps; ++i)
        bench.clock();
    EXPECT_TRUE(bench.run(order).empty());
    bench.set_qp(3, {true, 1, 2});
    EXPECT_EQ(bench.run(order), bench.expected(order));
}

}  // namespace
