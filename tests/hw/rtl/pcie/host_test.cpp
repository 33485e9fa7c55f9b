// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_pcie, requests of the host to the card: registers, doorbells, and requests that the card
// does not serve.
#include <gtest/gtest.h>

#include <bit>

#include "host_bench.h"

namespace {

using dingo::rtl::Answer;
using dingo::rtl::HostRequest;
using dingo::rtl::PcieBench;
using dingo::rtl::read;
using dingo::rtl::write;

using Host = dingo::rtl::HostBench;

/// Bytes arrive at their port in the host's order, in steps of at most 8 bytes.
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
        // A bus address: the BAR may be anywhere.
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

/// A doorbell of 8 bytes is one step; a burst of a write-combining buffer has a step for each
/// doorbell.
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

/// A read returns what earlier writes have left.
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

/// Each request is refused with UR or dropped, and the next one is served.
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
    longer.discontinue = true;  // with the last beat, which has dwords 13 and 14
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

/// PCIe: a posted request must not wait for anything that the card sends, so not for completions.
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

/// A port that answers late: at most eight writes are unanswered, and a read waits for all of them.
TEST_P(Host, APortThatAnswersLate) {
    bench.hold_lite_b = true;
    for (unsigned i = 0; i < 40; ++i) {
        bench.core->ask(write(2, 0x1080 + 0x1000 * i, {i, 0}));
    }
    bench.core->ask(read(1, 0x40, 2));
    for (unsigned i = 0; i < 2000; ++i) {
        bench.cycle();
    }
    EXPECT_EQ(bench.writes.size(), 8u);
    bench.hold_lite_b = false;
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.writes.size(), 40u);
    EXPECT_EQ(bench.core->answers.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, Host, testing::Values(0u, 30u, 70u));

/// Cycles per doorbell.
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
