// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_pcie, what the host asks of the card: registers, doorbells, the MSI-X table, requests that
// the card does not serve, and a function-level reset.
#include <gtest/gtest.h>

#include <bit>

#include "dingo_hw.h"
#include "pcie_card.h"

namespace {

using dingo::rtl::Answer;
using dingo::rtl::CoreTiming;
using dingo::rtl::HostRequest;
using dingo::rtl::PcieBench;

constexpr std::uint64_t kMessage = 0x12'fee0'1000;

HostRequest write(unsigned bar, std::uint64_t address, std::vector<std::uint32_t> data,
                  unsigned first_be = 0xf, unsigned last_be = 0xf) {
    const auto dwords = static_cast<unsigned>(data.size());
    return {.kind = 1,
            .bar = bar,
            .address = address,
            .data = std::move(data),
            .dwords = dwords,
            .first_be = first_be,
            .last_be = dwords == 1 ? 0 : last_be};
}
HostRequest read(unsigned tag, std::uint64_t address, unsigned dwords, unsigned first_be = 0xf,
                 unsigned last_be = 0xf) {
    return {.kind = 0,
            .bar = 0,
            .address = address,
            .data = {},
            .dwords = dwords,
            .first_be = first_be,
            .last_be = dwords == 1 ? 0 : last_be,
            .tag = tag};
}

class Host : public testing::TestWithParam<unsigned> {
  protected:
    Host() : bench({.stall = GetParam(), .seed = 11}) { bench.card_stall = GetParam(); }
    std::uint64_t word(unsigned address) {
        const std::size_t before = bench.core->answers.size();
        bench.core->ask(read(9, address, 2));
        bench.settle();
        const Answer& a = bench.core->answers.at(before);
        return a.data.at(0) | std::uint64_t{a.data.at(1)} << 32;
    }
    PcieBench bench;
};

/// Bytes that the host writes, port by port in its order, in steps of at most 8 bytes.
TEST_P(Host, WritesReachTheirPort) {
    std::array<std::vector<std::pair<unsigned, std::uint8_t>>, 2> wanted, got;
    for (unsigned i = 0; i < 800; ++i) {
        const unsigned port = bench.random() % 2;
        const unsigned dwords = i % 3 ? 2 : 1 + bench.random() % (i % 2 ? 40 : 4);
        const unsigned address =
            port ? 4 * (bench.random() % 0xffe00) : 4 * (bench.random() % 0x1f00);
        const unsigned first_be = dwords == 1 && i % 5 == 0 ? 0 : 0xf << bench.random() % 3 & 0xf;
        const unsigned last_be = dwords == 1 ? 0 : 0xf >> bench.random() % 3;
        std::vector<std::uint32_t> data(dwords);
        for (unsigned d = 0; d < dwords; ++d) {
            data[d] = bench.random();
            const unsigned be = d == 0 ? first_be : d + 1 == dwords ? last_be : 0xf;
            for (unsigned b = 0; b < 4; ++b) {
                if (be >> b & 1) {
                    wanted[port].emplace_back(address + 4 * d + b, data[d] >> 8 * b);
                }
            }
        }
        // The address is the bus's: the BAR lies somewhere.
        bench.core->ask(write(2 * port, 0x38'4000'0000ull + (port ? 0x400000 : 0) + address, data,
                              first_be, last_be));
    }
    bench.settle();
    for (const auto& w : bench.writes) {
        EXPECT_NE(w.strobes, 0u);
        for (unsigned b = 0; b < 8; ++b) {
            if (w.strobes >> b & 1) {
                got[w.port].emplace_back((w.address & ~7u) + b, w.data >> 8 * b);
            }
        }
    }
    EXPECT_EQ(bench.wrong, "");
    EXPECT_TRUE(wanted == got);
    EXPECT_EQ(bench.dut.dropped_o, 0);
}

/// A doorbell of 8 bytes is one step; a burst of a write-combining buffer is a step a doorbell.
TEST_P(Host, ADoorbellIsOneStep) {
    bench.core->ask(write(2, 0x1010 * 8, {1, 2}));
    bench.core->ask(write(2, 0x2000, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
    bench.settle();
    ASSERT_EQ(bench.writes.size(), 9u);
    for (unsigned i = 0; i < 9; ++i) {
        EXPECT_EQ(bench.writes[i].strobes, 0xffu);
        EXPECT_EQ(bench.writes[i].address, i ? 0x2000 + 8 * (i - 1) : 0x1010u * 8);
    }
    EXPECT_EQ(bench.writes[8].data, 0x0000'0010'0000'000full);
}

/// A read is answered with what the writes before it left.
TEST_P(Host, ReadsAreAnswered) {
    std::vector<std::uint32_t> data(64);
    for (auto& d : data) {
        d = bench.random();
    }
    bench.core->ask(write(0, 0x100, data));
    struct Want {
        unsigned offset, dwords, first_be, last_be;
    };
    std::vector<Want> wants;
    for (unsigned i = 0; i < 200; ++i) {
        const unsigned dwords = 1 + bench.random() % 8;
        const unsigned offset = bench.random() % (64 - dwords);
        Want w{offset, dwords, dwords == 1 && i % 4 == 0 ? 0u : 0xf << bench.random() % 4 & 0xf,
               dwords == 1 ? 0u : 0xf >> bench.random() % 4};
        wants.push_back(w);
        bench.core->ask(read(i, 0x38'4000'0100ull + 4 * offset, dwords, w.first_be, w.last_be));
        if (i % 10 == 5) {
            bench.core->ask(write(2, 0x88 + i * 0x1000, {i, 0}));
        }
    }
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    ASSERT_EQ(bench.core->answers.size(), wants.size());
    for (unsigned i = 0; i < wants.size(); ++i) {
        const Answer& a = bench.core->answers[i];
        const Want& w = wants[i];
        const auto low = static_cast<unsigned>(w.first_be ? std::countr_zero(w.first_be) : 0);
        const unsigned end = w.dwords == 1 ? w.first_be : w.last_be;
        const auto high = end ? 31 - static_cast<unsigned>(std::countl_zero(end)) : 0;
        EXPECT_EQ(a.tag, i);
        EXPECT_EQ(a.status, 0u);
        EXPECT_EQ(a.lower, (0x100 + 4 * w.offset + low) % 128);
        EXPECT_EQ(a.bytes, 4 * (w.dwords - 1) + high - low + 1);
        ASSERT_EQ(a.data.size(), w.dwords);
        EXPECT_TRUE(std::equal(a.data.begin(), a.data.end(), data.begin() + w.offset));
    }
}

/// Each is refused with UR or dropped, and the next request is served.
TEST_P(Host, WhatTheCardDoesNotServe) {
    unsigned tag = 0, dropped = 0;
    for (const unsigned kind : {2u, 3u, 4u, 5u, 6u, 7u, 9u}) {
        HostRequest r{
            .kind = kind, .bar = 0, .address = 0x40, .data = {}, .dwords = 1, .tag = tag++};
        if (kind >= 3 && kind <= 6) {
            r.dwords = kind == 3 ? 1 : 4;
            r.data.assign(r.dwords, 0x1234);
        }
        bench.core->ask(r);
    }
    HostRequest far = read(tag++, 0x40, 1);
    far.bar = 4;
    bench.core->ask(far);
    bench.core->ask(read(tag++, 0x40, 9));
    bench.core->ask(read(tag++, 0x40, 1024));
    for (const unsigned bar : {1u, 4u, 6u}) {
        bench.core->ask(write(bar, 0x40, std::vector<std::uint32_t>(bar * 7)));
        ++dropped;
    }
    for (const unsigned kind : {12u, 13u, 14u}) {
        bench.core->ask({.kind = kind, .bar = 0, .address = 0x40, .data = {1, 2, 3}, .dwords = 3});
        ++dropped;
    }
    HostRequest damaged = write(2, 0x80, {1, 2});
    damaged.discontinue = true;
    bench.core->ask(damaged);
    ++dropped;
    HostRequest longer = write(2, 0x100, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    longer.discontinue = true;  // told with the last beat, the 13th dword and the 14th
    bench.core->ask(longer);
    bench.core->ask(read(0x77, 0x40, 2));
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    ASSERT_EQ(bench.core->answers.size(), tag + 1);
    for (unsigned i = 0; i < tag; ++i) {
        const Answer& a = bench.core->answers[i];
        EXPECT_EQ(a.status, 1u) << i;
        EXPECT_EQ(a.locked, i == 5) << i;
        EXPECT_EQ(a.data.at(0), i == 8 || i == 9 ? 0xffu : 0x0fu) << "byte enables";
        EXPECT_EQ(a.data.at(1), 0x40u) << "the request's descriptor";
        EXPECT_EQ(a.data.at(4) & 0xff, a.tag);
    }
    EXPECT_EQ(bench.core->answers.back().status, 0u);
    EXPECT_EQ(bench.dut.dropped_o, dropped);
    EXPECT_EQ(bench.writes.size(), 6u) << "of the longer one what came before its last beat";
}

/// PCIe: a posted request must not wait for anything that the card sends, so not for the answers to
/// reads either.
TEST_P(Host, DoorbellsPassReadsThatCannotBeAnswered) {
    bench.core->hold_cc = bench.core->hold_completions = true;
    for (unsigned i = 0; i < 20; ++i) {
        bench.core->ask(read(i, 0x40, 2));
        bench.read(i, 0x1000 + 64 * i, 1);
    }
    for (unsigned i = 0; i < 100; ++i) {
        bench.core->ask(write(2, 0x1080 + 0x1000 * i, {i, 0}));
    }
    for (unsigned i = 0; i < 4000; ++i) {
        bench.cycle();
    }
    EXPECT_EQ(bench.writes.size(), 100u);
    EXPECT_TRUE(bench.core->answers.empty());
    bench.core->hold_cc = bench.core->hold_completions = false;
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.core->answers.size(), 20u);
    EXPECT_EQ(bench.answered, 20u);
}

/// Masked vectors stay pending; what goes is the table's address and data.
TEST_P(Host, Interrupts) {
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

/// A message that waits for the stream is taken back when its vector is masked, and the host may
/// read the table while a message is made.
TEST_P(Host, InterruptsAndTheHostMeet) {
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

/// CTRL.RESET is written; the core is told when nothing is on its way and the card is ready again.
TEST_P(Host, FunctionLevelReset) {
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

INSTANTIATE_TEST_SUITE_P(Stalls, Host, testing::Values(0u, 30u, 70u));

/// Cycles from one doorbell to the next.
TEST(HostRate, Doorbells) {
    PcieBench bench({});
    for (unsigned i = 0; i < 500; ++i) {
        bench.core->ask(write(2, 0x1080, {i, 0}));
    }
    const std::uint64_t begin = bench.now;
    while (bench.writes.size() < 500 && bench.now < begin + 10'000) {
        bench.cycle();
    }
    const double cycles = static_cast<double>(bench.now - begin) / 500;
    std::printf("%.2f cycles a doorbell\n", cycles);
    EXPECT_LE(cycles, 3.1);
}

}  // namespace
