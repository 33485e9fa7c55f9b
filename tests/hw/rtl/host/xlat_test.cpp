// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_xlat: translation by page lists, errors of lists, effect of a flush, latency, and how many
// requests and misses overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "Vdingo_xlat.h"
#include "regions.h"

namespace {

using dingo::rtl::HostMemory;
using dingo::rtl::Region;
using dingo::rtl::RegionMaker;
using dingo::rtl::Xmem;

constexpr unsigned kFlight = 8;  // misses that overlap (LogFlight = 3)
constexpr unsigned kFresh = 3;   // rtl_pkg::LEVELS_FRESH
constexpr std::uint64_t kBase = 0x12'0000'0000;

class Xlat : public testing::Test {
  protected:
    void SetUp() override {
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
    }

    void clock() {
        dut.clk_i = 0;
        dut.eval();
        const bool asked = dut.line_valid_o && dut.line_ready_i && dut.rst_ni;
        const std::uint64_t line = dut.line_o & ((1ull << 58) - 1);
        taken = dut.req_valid_i && dut.req_ready_o;
        dut.clk_i = 1;
        dut.eval();
        dut.line_rsp_valid_i = 0;
        ++now;
        if (asked) {  // memory is read now and answers later, in order
            ++reads;
            Line answer{now + latency + random() % (latency + 1), false, {}};
            answer.ok = !refuse && memory.holds(line * 64, 64);
            if (answer.ok)
                std::memcpy(answer.data.data(), memory.at(line * 64), 64);
            lines.push_back(answer);
            most_lines = std::max(most_lines, lines.size());
        } else if (!lines.empty() && lines.front().due <= now) {
            dut.line_rsp_valid_i = 1;
            std::memcpy(&dut.line_rsp_i[0], lines.front().data.data(), 64);
            dut.line_rsp_i[16] = lines.front().ok ? 1 : 3;
            lines.pop_front();
        }
        dut.line_ready_i = always_ready || random() % 2;
    }

    void flush() {
        dut.flush_i = 1;
        clock();
        dut.flush_i = 0;
    }

    struct Answer {
        bool err;
        std::uint64_t addr;
        unsigned cycles;
    };
    void show(const Xmem& mem, std::uint64_t off) {
        dut.req_valid_i = 1;
        dingo::rtl::put_xmem(&dut.req_i[0], 0, mem);
        dingo::rtl::put_bits(&dut.req_i[0], 103, 64, off);
    }
    Answer ask(const Xmem& mem, std::uint64_t off) {
        show(mem, off);
        unsigned cycles = 0;
        do {
            clock();
        } while (!taken && ++cycles < 1000);
        dut.req_valid_i = 0;
        for (cycles = 0; cycles < 1000 && !dut.rsp_valid_o; ++cycles) {
            clock();
        }
        EXPECT_TRUE(dut.rsp_valid_o);
        const Answer answer{(dut.rsp_o[2] & 1) != 0, dingo::rtl::get_bits(&dut.rsp_o[0], 0, 64),
                            cycles};
        dut.rsp_ready_i = 1;
        clock();
        dut.rsp_ready_i = 0;
        EXPECT_TRUE(dut.idle_o);
        return answer;
    }

    Vdingo_xlat dut;
    HostMemory memory{kBase, 24 << 20, 5};
    RegionMaker maker{memory, 9};
    std::mt19937 random{3};
    struct Line {
        std::uint64_t due;
        bool ok;
        std::array<std::uint8_t, 64> data;
    };
    std::deque<Line> lines;
    std::size_t most_lines = 0;
    std::uint64_t now = 0;
    unsigned latency = 10;
    unsigned reads = 0;
    bool refuse = false, taken = false, always_ready = false;
};

TEST_F(Xlat, FollowsTheListsOfEveryLevelAndPageSize) {
    std::vector<Region> regions;
    for (const unsigned shift : {12u, 13u, 16u, 20u}) {
        regions.push_back(maker.make(1, shift, 3'000'000));
    }
    regions.push_back(maker.make(2, 12, 5'000'000));  // more than two leaf lists
    regions.push_back(maker.make(1, 12, 300'000, 3));
    regions.push_back(maker.make(2, 12, 300'000, 3));
    regions.push_back(maker.make(0, 0, 10'000));
    regions.push_back(maker.make(1, 12, 300'000, 3));
    regions.back().mem.levels = kFresh;
    unsigned errors = 0;
    for (int i = 0; i < 20'000; ++i) {
        const Region& r = regions[random() % regions.size()];
        const std::uint64_t off = random() % r.bytes;
        std::uint64_t bus = 0;
        const bool ok = r.translate(off, bus);
        const Answer a = ask(r.mem, off);
        ASSERT_EQ(a.err, !ok) << off;
        if (ok) {
            ASSERT_EQ(a.addr, bus) << off;
        }
        errors += !ok;
    }
    EXPECT_GT(errors, 100u);
}

TEST_F(Xlat, AddressesWithoutAListWrapAndNeedNoMemory) {
    EXPECT_EQ(ask({.levels = 0, .shift = 0, .offset = 5, .addr = ~0ull - 9}, 20).addr, 15u);
    EXPECT_EQ(ask({.levels = 0, .shift = 0, .offset = 0, .addr = 0}, 0xffff'8000'0000'1234).addr,
              0xffff'8000'0000'1234u);
    EXPECT_EQ(reads, 0u);
    EXPECT_LE(ask({.levels = 0, .shift = 0, .offset = 0, .addr = 1}, 1).cycles, 1u);
}

TEST_F(Xlat, AHitIsQuickAndAsksNobody) {
    const Region r = maker.make(1, 12, 100'000);
    ask(r.mem, 0);
    EXPECT_EQ(reads, 1u);
    const Answer a = ask(r.mem, 1);
    EXPECT_EQ(reads, 1u);
    EXPECT_LE(a.cycles, 5u);
    const Region two = maker.make(2, 12, 100'000);
    ask(two.mem, 0);
    EXPECT_EQ(reads, 3u);
    EXPECT_LE(ask(two.mem, 1).cycles, 7u);
    EXPECT_EQ(reads, 3u);
}

TEST_F(Xlat, RootAndLeavesDoNotPushEachOtherOut) {
    // A region with two levels whose root list and first leaf list have the same offset in their
    // pages.
    const std::uint64_t root = maker.take(4096, 4096);
    const std::uint64_t leaf = maker.take(4096, 4096);
    memory.put64(root, leaf);
    memory.put64(leaf, 0x7000);
    const Xmem mem{.levels = 2, .shift = 12, .offset = 0, .addr = root};
    for (unsigned i = 0; i < 100; ++i)
        ASSERT_EQ(ask(mem, i).addr, 0x7000u + i);
    EXPECT_EQ(reads, 2u);
}

TEST_F(Xlat, ManyRequestsAreInWorkAndAnsweredInOrder) {
    std::vector<Region> regions;
    for (const unsigned shift : {12U, 13U, 16U})
        regions.push_back(maker.make(1, shift, 2'000'000));
    regions.push_back(maker.make(2, 12, 5'000'000));
    regions.push_back(maker.make(2, 12, 300'000, 3));
    regions.push_back(maker.make(0, 0, 10'000));
    regions.push_back(maker.make(1, 12, 300'000, 3));
    regions.back().mem.levels = kFresh;
    struct Want {
        bool ok;
        std::uint64_t bus;
    };
    std::deque<Want> wanted;
    unsigned answers = 0;
    latency = 40;
    bool shown = false;
    Want next{};
    for (unsigned i = 0; answers < 30'000; ++i) {
        ASSERT_LT(i, 2'000'000u);
        if (!shown && random() % 4 != 0) {
            const Region& r = regions[random() % regions.size()];
            const std::uint64_t off = random() % r.bytes;
            next.ok = r.translate(off, next.bus);
            show(r.mem, off);
            shown = true;
        }
        dut.flush_i = random() % 3000 == 0;
        dut.req_valid_i = shown;
        dut.rsp_ready_i = random() % 4 != 0;
        dut.clk_i = 0;
        dut.eval();
        if (dut.rsp_valid_o && dut.rsp_ready_i) {
            ASSERT_FALSE(wanted.empty());
            ASSERT_EQ((dut.rsp_o[2] & 1) == 0, wanted.front().ok);
            if (wanted.front().ok) {
                ASSERT_EQ(dingo::rtl::get_bits(&dut.rsp_o[0], 0, 64), wanted.front().bus);
            }
            wanted.pop_front();
            ++answers;
        }
        clock();
        if (taken) {
            wanted.push_back(next);
            shown = false;
        }
    }
    EXPECT_GT(most_lines, 4u);
}

TEST_F(Xlat, MissesOverlapAndHitsComeEveryCycle) {
    const Region r = maker.make(2, 12, 12'000'000);
    always_ready = true;
    latency = 100;
    dut.rsp_ready_i = 1;
    // Cycles for `count` requests, each `step` bytes after the one before.
    const auto cycles = [&](unsigned count, std::uint64_t step) {
        unsigned asked = 0, answered = 0, n = 0;
        for (; answered < count && n < 1'000'000; ++n) {
            if (asked < count)
                show(r.mem, asked * step % r.bytes);
            dut.req_valid_i = asked < count;
            dut.clk_i = 0;
            dut.eval();
            answered += dut.rsp_valid_o;
            clock();
            asked += taken;
        }
        return n;
    };
    const unsigned misses = cycles(300, 32'768);  // each in another line of the leaf lists
    EXPECT_LT(misses, 300u * 150 / (kFlight / 2));
    EXPECT_GE(most_lines, kFlight);
    EXPECT_LE(most_lines, 2 * kFlight);  // leaf lists and root lists
    cycles(1, 0);
    const unsigned hits = cycles(1'000, 16);
    EXPECT_LE(hits, 1'000u + 20);
}

TEST_F(Xlat, AFlushForgetsEvenALineThatIsOnItsWay) {
    const Region r = maker.make(1, 12, 20'000);
    std::uint64_t bus = 0;
    ASSERT_TRUE(r.translate(0, bus));
    EXPECT_EQ(ask(r.mem, 0).addr, bus);
    memory.put64(r.mem.addr, bus - bus % 4096 + 0x10'0000'0000);  // changes the list
    EXPECT_EQ(ask(r.mem, 0).addr, bus) << "cached";
    flush();
    EXPECT_EQ(ask(r.mem, 0).addr, bus + 0x10'0000'0000);

    // The list changes and the flush comes at any moment of a miss: the next request gets the new
    // address.
    for (unsigned moment = 0; moment < 30; ++moment) {
        const std::uint64_t page = 4096ull * (1000 + moment);
        flush();
        show(r.mem, 0);
        while (taken = false, clock(), !taken) {
        }
        dut.req_valid_i = 0;
        for (unsigned i = 0; i < moment; ++i) {
            clock();
        }
        memory.put64(r.mem.addr, page);
        flush();
        for (int i = 0; i < 100 && !dut.rsp_valid_o; ++i) {
            clock();
        }
        ASSERT_TRUE(dut.rsp_valid_o);
        dut.rsp_ready_i = 1;
        clock();
        dut.rsp_ready_i = 0;
        ASSERT_EQ(ask(r.mem, 0).addr, page + r.mem.offset) << moment;
    }
}

TEST_F(Xlat, OfAListThatMayChangeNothingIsKeptAndNothingElseIsForgotten) {
    const Region kept = maker.make(1, 12, 20'000);
    Region r = maker.make(1, 12, 20'000);
    r.mem.levels = kFresh;
    std::uint64_t bus = 0;
    ASSERT_TRUE(r.translate(0, bus));
    ask(kept.mem, 0);
    EXPECT_EQ(ask(r.mem, 0).addr, bus);
    EXPECT_EQ(reads, 2u);
    memory.put64(r.mem.addr, bus - bus % 4096 + 0x10'0000'0000);
    EXPECT_EQ(ask(r.mem, 0).addr, bus + 0x10'0000'0000);
    EXPECT_EQ(reads, 3u);
    refuse = true;
    EXPECT_TRUE(ask(r.mem, 0).err);
    EXPECT_FALSE(ask(kept.mem, 0).err) << "it is still there";
    EXPECT_EQ(reads, 4u);
    refuse = false;
    r.mem.levels = 1;  // the same list, which may now be cached
    EXPECT_EQ(ask(r.mem, 0).addr, bus + 0x10'0000'0000);
    EXPECT_EQ(reads, 5u);
    ask(r.mem, 0);
    EXPECT_EQ(reads, 5u);
}

TEST_F(Xlat, AListThatCannotBeReadIsAnErrorAndIsNotKept) {
    const Region r = maker.make(2, 12, 100'000);
    std::uint64_t bus = 0;
    ASSERT_TRUE(r.translate(50'000, bus));
    refuse = true;
    EXPECT_TRUE(ask(r.mem, 50'000).err);
    refuse = false;
    const Answer a = ask(r.mem, 50'000);
    EXPECT_FALSE(a.err);
    EXPECT_EQ(a.addr, bus);
    const std::uint64_t root = r.mem.addr;  // the root gets a leaf list that is not aligned
    std::uint64_t leaf = 0;
    std::memcpy(&leaf, memory.at(root), 8);
    memory.put64(root, leaf + 8);
    flush();
    EXPECT_TRUE(ask(r.mem, 50'000).err);
}

}  // namespace
