// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_pcie: the MSI-X table and its messages, and a function-level reset.
#include <gtest/gtest.h>

#include <map>

#include "dingo_hw.h"
#include "host_bench.h"

namespace {

using dingo::rtl::read;
using dingo::rtl::write;

constexpr std::uint64_t kMessage = 0x12'fee0'1000;

using Interrupts = dingo::rtl::HostBench;

/// Masked vectors stay pending; a message has the table's address and data.
TEST_P(Interrupts, Masks) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> messages;
    bench.core->on_write = [&](std::uint64_t address, unsigned) {
        messages.emplace_back(address, bench.core->byte(address) | bench.core->byte(address + 1)
                                                                       << 8);
    };
    EXPECT_EQ(word(0x8008 + 16 * 5) >> 32, 1u) << "masked after reset";
    for (unsigned v = 0; v < 64; ++v) {
        bench.core->ask(
            write(0, 0x8000 + 16 * v,
                  {static_cast<std::uint32_t>(kMessage) + 4 * v, kMessage >> 32, 0x4000 + v, 1}));
    }
    for (const unsigned v : {3u, 63u, 0u, 3u}) {
        bench.interrupt(v);
    }
    bench.settle();
    EXPECT_TRUE(messages.empty());
    EXPECT_EQ(word(0x8000 + 16 * 63), kMessage + 4 * 63);
    EXPECT_EQ(word(0x8008 + 16 * 63), 0x1'0000'403full);
    EXPECT_EQ(word(0xc000), 1ull << 63 | 1 << 3 | 1);
    bench.core->ask(write(0, 0x800c + 16 * 3, {0}));
    bench.settle();
    ASSERT_EQ(messages.size(), 1u) << "asked for twice, one message";
    EXPECT_EQ(messages[0], std::pair(kMessage + 12, 0x4003u));
    EXPECT_EQ(word(0xc000), 1ull << 63 | 1);
    bench.dut.cfg_msix_mask_i = 1;
    bench.core->ask(write(0, 0x800c, {0}));
    bench.core->ask(write(0, 0x800c + 16 * 63, {0}));
    bench.settle();
    EXPECT_EQ(messages.size(), 1u);
    bench.dut.cfg_msix_mask_i = 0;
    bench.settle();
    EXPECT_EQ(messages.size(), 3u);
    EXPECT_EQ(word(0xc000), 0u);
    for (unsigned i = 0; i < 50; ++i) {
        bench.interrupt(i % 2 ? 0 : 63);
        bench.settle();
    }
    EXPECT_EQ(messages.size(), 53u);
    bench.dut.cfg_msix_enable_i = 0;
    bench.interrupt(0);
    bench.settle();
    EXPECT_EQ(messages.size(), 53u);
    EXPECT_EQ(bench.wrong, "");
}

/// A vector that is requested all the time does not starve the others.
TEST_P(Interrupts, HaveTheirTurns) {
    unsigned often = 0, before = 0;
    bool seen = false;
    bench.core->on_write = [&](std::uint64_t address, unsigned) {
        seen |= address != kMessage;
        often += address == kMessage;
    };
    for (const unsigned v : {0u, 40u, 63u}) {
        bench.core->ask(
            write(0, 0x8000 + 16 * v,
                  {static_cast<std::uint32_t>(kMessage) + 4 * v, kMessage >> 32, v, 0}));
    }
    bench.settle();
    for (unsigned i = 0; i < 3000; ++i) {
        if (!bench.rings()) {
            bench.interrupt(0);
        }
        if (i % 100 == 50) {
            bench.interrupt(i % 200 == 50 ? 63 : 40);
            before = often;
            seen = false;
        }
        bench.cycle();
        EXPECT_TRUE(seen || i < 50 || often <= before + 3) << i;
    }
    EXPECT_GT(often, 30u);
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
}

/// A message that waits for the stream is withdrawn when its vector is masked; the host may read
/// the table at any time.
TEST_P(Interrupts, AndTheHostMeet) {
    std::map<std::uint64_t, unsigned> messages;
    bench.core->on_write = [&](std::uint64_t address, unsigned) {
        ++messages[address];
        if (address >= kMessage) {
            EXPECT_EQ(bench.core->byte(address), (address - kMessage) / 4);
        }
    };
    for (unsigned v = 0; v < 64; ++v) {
        bench.core->ask(
            write(0, 0x8000 + 16 * v,
                  {static_cast<std::uint32_t>(kMessage) + 4 * v, kMessage >> 32, v, 0}));
    }
    bench.settle();
    bench.core->hold_rq = true;
    bench.write(0x1000, 512);
    for (unsigned i = 0; i < 400; ++i) {
        if (i == 200) {
            bench.interrupt(7);
        }
        bench.cycle();
    }
    bench.core->ask(write(0, 0x800c + 16 * 7, {1}));
    for (unsigned i = 0; i < 200; ++i) {
        bench.cycle();
    }
    bench.core->hold_rq = false;
    bench.settle();
    EXPECT_EQ(messages[kMessage + 4 * 7], 0u);
    EXPECT_EQ(word(0xc000), 1u << 7);
    bench.core->ask(write(0, 0x800c + 16 * 7, {0}));
    bench.settle();
    EXPECT_EQ(messages[kMessage + 4 * 7], 1u);
    for (unsigned i = 0; i < 300; ++i) {
        bench.interrupt(i % 64);
        bench.core->ask(read(i % 256, 0x8000 + 8 * (bench.random() % 128), 8));
        for (unsigned j = bench.random() % 12; j != 0; --j) {
            bench.cycle();
        }
    }
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(messages.size(), 66u) << "64 vectors, and the write in two packets";
}

/// CTRL.RESET is written; the core is told when nothing is outstanding and the card is ready again.
TEST_P(Interrupts, FunctionLevelReset) {
    for (unsigned round = 0; round < 3; ++round) {
        bench.core->ask(write(0, 0x800c, {0}));
        bench.settle();
        bench.writes.clear();
        bench.fill(0x10000, 4096);
        bench.core->hold_completions = true;
        for (unsigned i = 0; i < 10; ++i) {
            bench.read(i, 0x10000 + 64 * i, 2);
            bench.write(0x20000 + 64 * i, 64);
        }
        for (unsigned i = 0; i < 300; ++i) {
            bench.cycle();
        }
        bench.dut.cfg_flr_i = 1;
        for (unsigned i = 0; i < 500; ++i) {
            bench.cycle();
            ASSERT_FALSE(bench.dut.cfg_flr_done_o) << "reads are on their way";
            bench.dut.card_ready_i = bench.writes.empty();
        }
        ASSERT_EQ(bench.writes.size(), 1u);
        EXPECT_EQ(bench.writes[0].address & ~7u, DINGO_REG_CTRL & ~7u);
        EXPECT_EQ(bench.writes[0].data >> 32, DINGO_CTRL_RESET_MASK);
        EXPECT_EQ(bench.writes[0].strobes, 0xf0u);
        bench.dut.card_ready_i = 1;
        for (unsigned i = 0; i < 300; ++i) {
            bench.cycle();
            ASSERT_FALSE(bench.dut.cfg_flr_done_o)
                << "reads are on their way, though the card is ready";
        }
        bench.dut.card_ready_i = 0;
        bench.core->hold_completions = false;
        bench.settle();
        EXPECT_FALSE(bench.dut.cfg_flr_done_o) << "the card is not ready";
        bench.dut.card_ready_i = 1;
        for (unsigned i = 0; i < 100 && !bench.dut.cfg_flr_done_o; ++i) {
            bench.cycle();
        }
        EXPECT_TRUE(bench.dut.cfg_flr_done_o);
        bench.dut.cfg_flr_i = 0;
        bench.cycle();
        bench.cycle();
        EXPECT_FALSE(bench.dut.cfg_flr_done_o);
        EXPECT_EQ(word(0x8008) >> 32, 1u) << "masked";
    }
    EXPECT_EQ(bench.wrong, "");
}

/// A write that the core has not taken counts as outstanding.
TEST_P(Interrupts, FunctionLevelResetWaitsForWrites) {
    bench.core->hold_rq = true;
    bench.write(0x20000, 64);
    for (unsigned i = 0; i < 100; ++i) {
        bench.cycle();
    }
    bench.dut.cfg_flr_i = 1;
    for (unsigned i = 0; i < 600; ++i) {
        bench.cycle();
        ASSERT_FALSE(bench.dut.cfg_flr_done_o);
    }
    EXPECT_EQ(bench.writes.size(), 1u);
    bench.core->hold_rq = false;
    bench.settle();
    EXPECT_TRUE(bench.dut.cfg_flr_done_o);
    EXPECT_EQ(bench.wrong, "");
}

INSTANTIATE_TEST_SUITE_P(Stalls, Interrupts, testing::Values(0u, 30u, 70u));

}  // namespace
