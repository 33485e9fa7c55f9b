// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_pcie, reads of the card: however the host splits and orders completions, each burst gets
// its bytes, bursts of one ID in order; failures are reported; bytes per cycle.
#include <gtest/gtest.h>

#include "pcie_card.h"

namespace {

using dingo::rtl::CoreTiming;
using dingo::rtl::PcieBench;

constexpr std::uint64_t kBase = 0x7f12'3450'0000;
constexpr unsigned kBytes = 16 * 4096;

class Reads : public testing::TestWithParam<CoreTiming> {};

TEST_P(Reads, EveryBurstGetsItsBytes) {
    PcieBench bench(GetParam());
    bench.fill(kBase, kBytes);
    bench.card_stall = GetParam().stall;
    unsigned sent = 0;
    for (unsigned round = 0; round < 60; ++round) {
        for (unsigned i = 0; i < 40; ++i, ++sent) {
            const unsigned first = bench.random() % 64;
            const unsigned most = 64 - first;
            const unsigned kind = bench.random() % 4;
            const unsigned lines =
                kind == 0   ? 1
                : kind == 1 ? most
                            : std::min(1 + static_cast<unsigned>(bench.random() % 8), most);
            const unsigned id = bench.random() % 2 ? bench.random() % 4 : bench.random() % 128;
            bench.read(id, kBase + 4096 * (bench.random() % 16) + 64 * first, lines);
        }
        while (bench.waits() && bench.wrong.empty()) {
            bench.cycle();
        }
    }
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.answered, sent);
    if (GetParam().reorder) {
        EXPECT_GT(bench.core->splits, 100u);
        EXPECT_GT(bench.core->mixed, 100u);
        EXPECT_GT(bench.overtaken, 100u) << "IDs wait for each other";
    }
    EXPECT_EQ(bench.failed != 0, GetParam().fail != 0);
    EXPECT_EQ(bench.dut.failed_o != 0, GetParam().fail != 0);
}

/// Every start line in a page with many lengths, with and without failures.
TEST_P(Reads, EveryPlaceAndLength) {
    PcieBench bench(GetParam());
    bench.fill(kBase, 4096);
    unsigned sent = 0;
    for (unsigned first = 0; first < 64; ++first) {
        for (unsigned lines = 1; lines <= 64 - first; lines += lines < 9 ? 1 : 11, ++sent) {
            bench.read(sent % 128, kBase + 64 * first, lines);
        }
    }
    bench.settle(200'000);
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.answered, sent);
}

constexpr CoreTiming kTimings[] = {
    {.mps = 256, .mrrs = 512},
    {.mps = 128,
     .mrrs = 128,
     .rcb = 64,
     .latency = 30,
     .jitter = 100,
     .stall = 20,
     .reorder = true,
     .seed = 2},
    {.mps = 128,
     .mrrs = 256,
     .rcb = 64,
     .latency = 10,
     .jitter = 300,
     .stall = 50,
     .reorder = true,
     .seed = 3},
    {.mps = 256, .mrrs = 512, .rcb = 128, .latency = 60, .jitter = 200, .reorder = true, .seed = 4},
    {.mps = 512,
     .mrrs = 1024,
     .rcb = 64,
     .latency = 100,
     .jitter = 300,
     .stall = 10,
     .reorder = true,
     .credits = 3,
     .seed = 5},
    {.mps = 512,
     .mrrs = 4096,
     .rcb = 128,
     .latency = 5,
     .jitter = 50,
     .reorder = true,
     .credits = 1,
     .seed = 6},
    {.mps = 256,
     .mrrs = 4096,
     .rcb = 64,
     .latency = 40,
     .jitter = 100,
     .reorder = true,
     .fail = 10,
     .stray = 5,
     .seed = 7},
    {.mps = 128,
     .mrrs = 256,
     .rcb = 64,
     .latency = 40,
     .jitter = 400,
     .stall = 30,
     .reorder = true,
     .fail = 30,
     .stray = 10,
     .all_tags = false,
     .seed = 8},
};
INSTANTIATE_TEST_SUITE_P(Hosts, Reads, testing::ValuesIn(kTimings));

/// At most 32 reads are outstanding without extended tags, 256 with them.
TEST(ReadTags, AreAsManyAsTheHostAllows) {
    for (const bool all : {false, true}) {
        PcieBench bench({.latency = 2000, .all_tags = all});
        bench.fill(kBase, kBytes);
        for (unsigned i = 0; i < 400; ++i) {
            bench.read(i % 128, kBase + 64 * i, 1);
        }
        bench.settle();
        EXPECT_EQ(bench.wrong, "");
        EXPECT_EQ(bench.core->most_reads, all ? 256u : 32u);
    }
}

/// The host switches extended tags on and off while reads are outstanding.
TEST(ReadTags, FollowTheHost) {
    PcieBench bench({.latency = 50, .jitter = 300, .reorder = true, .all_tags = false});
    bench.fill(kBase, kBytes);
    for (unsigned round = 0; round < 10; ++round) {
        bench.core->timing.all_tags = true;  // until Device Control is read tags are below 32
        for (unsigned i = 0; i < 600; ++i) {
            bench.read(i % 128, kBase + i % 16 * 4096 + i % 61 * 64, 1 + i % 3);
        }
        bench.settle();
        ASSERT_EQ(bench.wrong, "");
        EXPECT_GT(bench.core->most_reads, 200u);
        bench.core->timing.all_tags = false;
        for (unsigned i = 0; i < 600; ++i) {
            bench.cycle();
        }
        bench.core->most_reads = 0;
        for (unsigned i = 0; i < 100; ++i) {
            bench.read(i % 128, kBase + 64 * i, 1);
        }
        bench.settle();
        ASSERT_EQ(bench.wrong, "");
        EXPECT_LE(bench.core->most_reads, 32u);
        bench.core->most_reads = 0;
    }
}

struct Rate {
    unsigned lines, count, mps;
    double least;  // bytes a cycle
};
class ReadRate : public testing::TestWithParam<Rate> {};

/// The latency is 600 ns. A packet has 12 bytes of descriptor, and without straddling the next one
/// begins in a new beat: 64 bytes take 2 beats, 256 take 5, 512 take 9.
TEST_P(ReadRate, BytesACycle) {
    const Rate rate = GetParam();
    PcieBench bench({.mps = rate.mps, .mrrs = 512, .latency = 150});
    bench.fill(kBase, kBytes);
    for (unsigned i = 0; i < rate.count; ++i) {
        bench.read(i % 128, kBase + i % 16 * 4096, rate.lines);
    }
    bench.settle(200'000);
    ASSERT_EQ(bench.wrong, "");
    const auto cycles = static_cast<double>(bench.last_r - bench.first_r + 1);
    const double bytes = 64.0 * bench.beats / cycles;
    RecordProperty("bytes_a_cycle_x10", static_cast<int>(bytes * 10));
    std::printf("%u bursts of %u bytes, payload %u: %.0f cycles, %.1f bytes a cycle\n", rate.count,
                rate.lines * 64, rate.mps, cycles, bytes);
    EXPECT_GE(bytes, rate.least);
}
INSTANTIATE_TEST_SUITE_P(Sizes, ReadRate,
                         testing::Values(Rate{64, 200, 512, 56.5}, Rate{64, 200, 256, 51.0},
                                         Rate{8, 1000, 256, 51.0}, Rate{1, 4000, 256, 31.9}));

}  // namespace
