// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_pcie, writes of the card: every enabled byte arrives and no other, in packets that the host
// allows; requests made after an answer are behind the write; lines without bytes make no packet.
#include <gtest/gtest.h>

#include "pcie_card.h"

namespace {

using dingo::rtl::CoreTiming;
using dingo::rtl::HostRequest;
using dingo::rtl::PcieBench;

constexpr std::uint64_t kBase = 0x7f12'3450'0000;
constexpr std::uint64_t kMessage = 0xfee0'1000;

void expect_memory(PcieBench& bench) {
    unsigned wrong = 0;
    for (const auto& [address, value] : bench.expected) {
        wrong += bench.core->byte(address) != value;
    }
    EXPECT_EQ(wrong, 0u) << "bytes";
    EXPECT_EQ(bench.core->bytes(), bench.expected.size()) << "bytes that nobody wrote";
}

class Writes : public testing::TestWithParam<CoreTiming> {};

TEST_P(Writes, EveryByteAndNoOther) {
    PcieBench bench(GetParam());
    bench.card_stall = GetParam().stall;
    unsigned sent = 0;
    for (unsigned i = 0; i < 2000; ++i, ++sent) {
        const unsigned first = bench.random() % 4096;
        const unsigned most = 4096 - first;
        const unsigned kind = bench.random() % 4;
        const unsigned bytes = kind == 0 ? most
                                         : 1 + bench.random() % std::min(most, kind == 1   ? 8u
                                                                               : kind == 2 ? 130u
                                                                                           : 1100u);
        bench.write(kBase + 4096 * (bench.random() % 4) + first, bytes);
    }
    bench.settle(500'000);
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.b_seen, sent);
    expect_memory(bench);
}

/// Each first byte of a line with most lengths up to three lines.
TEST_P(Writes, EveryPlaceAndLength) {
    PcieBench bench(GetParam());
    unsigned sent = 0;
    for (unsigned first = 0; first < 64; ++first) {
        for (unsigned bytes = 1; bytes < 200; bytes += bytes % 7 == 0 ? 3 : 1, ++sent) {
            bench.write(kBase + 4096 * (sent % 16) + sent / 16 % 13 * 256 + first, bytes);
        }
    }
    bench.settle(500'000);
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.b_seen, sent);
    expect_memory(bench);
}

/// The rest of a burst has no enabled byte, as after a reset of the card.
TEST_P(Writes, WhatAResetCutOffMakesNoPacket) {
    PcieBench bench(GetParam());
    bench.card_stall = GetParam().stall;
    unsigned sent = 0, packets = 0, wanted = 0;
    bench.core->on_write = [&](std::uint64_t, unsigned) { ++packets; };
    for (unsigned i = 0; i < 300; ++i, ++sent) {
        const unsigned first = bench.random() % 4096;
        const unsigned bytes = 1 + bench.random() % (4096 - first);
        const unsigned given = i % 3 == 0 ? 0 : bench.random() % (bytes + 1);
        bench.write(kBase + first, bytes, given);
        const unsigned mps = std::min(GetParam().mps, 512u);
        wanted += given == 0 ? 0 : (first + given - 1) / mps - first / mps + 1;
    }
    bench.settle(500'000);
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.b_seen, sent);
    EXPECT_EQ(packets, wanted);
    expect_memory(bench);
}

/// What the card requests when a write is answered is behind that write: a read returns its bytes,
/// a message arrives after it.
TEST_P(Writes, WhatFollowsTheAnswerIsBehindTheWrite) {
    PcieBench bench(GetParam());
    bench.card_stall = GetParam().stall;
    bench.core->ask({.kind = 1,
                     .bar = 0,
                     .address = 0x8000,
                     .data = {kMessage, 0, 0x55, 0},
                     .dwords = 4,
                     .first_be = 0xf,
                     .last_be = 0xf});
    bench.settle();
    std::deque<std::pair<std::uint64_t, unsigned>> at, rung;
    unsigned reads = 0, messages = 0, early = 0;
    const auto arrived = [&](std::uint64_t address, unsigned bytes) {
        for (std::uint64_t a = address; a < address + bytes; ++a) {
            early += bench.core->byte(a) != bench.expected[a];
        }
    };
    const auto on_read = bench.core->on_read;
    bench.core->on_read = [&](std::uint64_t address, unsigned bytes, bool bad) {
        on_read(address, bytes, bad);
        arrived(address, bytes);
        ++reads;
    };
    bench.core->on_write = [&](std::uint64_t address, unsigned) {
        if (address == kMessage) {
            ++messages;
            for (const auto& [a, bytes] : rung) {
                arrived(a, bytes);
            }
            rung.clear();
        }
    };
    bench.on_b = [&] {
        const auto [address, bytes] = at.front();
        at.pop_front();
        if (bytes == 0) {
            return;
        }
        bench.read(bench.b_seen % 128, address, bytes / 64);
        rung.emplace_back(address, bytes);
        bench.interrupt(0);
    };
    for (unsigned i = 0; i < 400; ++i) {
        const unsigned bytes = 64 * (1 + i % 8);
        at.emplace_back(kBase + 4096ull * i, bytes);
        bench.write(kBase + 4096ull * i, bytes);
        if (i % 3 == 0) {  // a write without bytes is answered in order, too
            at.emplace_back(kBase, 0);
            bench.write(kBase, 64, 0);
        }
    }
    bench.settle(500'000);
    EXPECT_EQ(bench.wrong, "");
    EXPECT_GE(reads, 400u);
    EXPECT_GT(messages, 20u);
    EXPECT_TRUE(rung.empty()) << "a message is missing";
    EXPECT_EQ(early, 0u);
}

/// Messages leave between packets of writes and reads; none is lost.
TEST_P(Writes, MessagesGoBetweenPackets) {
    PcieBench bench(GetParam());
    bench.card_stall = GetParam().stall;
    bench.fill(kBase + 0x10'0000, 4096);
    std::map<std::uint64_t, unsigned> messages;
    bench.core->on_write = [&](std::uint64_t address, unsigned) {
        messages[address] += address < kBase;
    };
    for (unsigned v = 0; v < 64; ++v) {
        bench.core->ask({.kind = 1,
                         .bar = 0,
                         .address = 0x8000 + 16 * v,
                         .data = {static_cast<std::uint32_t>(kMessage) + 4 * v, 0, v, 0},
                         .dwords = 4,
                         .first_be = 0xf,
                         .last_be = 0xf});
    }
    bench.settle();
    for (unsigned i = 0; i < 300; ++i) {
        bench.write(kBase + 4096 * (i % 16), 4096 - i);
        bench.read(i % 128, kBase + 0x10'0000, 1 + i % 8);
        if (i < 64) {
            bench.interrupt(i);
        }
    }
    bench.settle(500'000);
    EXPECT_EQ(bench.wrong, "");
    for (unsigned v = 0; v < 64; ++v) {
        EXPECT_EQ(messages[kMessage + 4 * v], 1u) << v;
    }
}

constexpr CoreTiming kTimings[] = {
    {.mps = 128, .mrrs = 128, .latency = 30},
    {.mps = 256, .mrrs = 512, .latency = 30, .stall = 30, .seed = 2},
    {.mps = 512,
     .mrrs = 512,
     .latency = 10,
     .jitter = 50,
     .stall = 60,
     .reorder = true,
     .credits = 2,
     .seed = 3},
    {.mps = 1024, .mrrs = 512, .latency = 10, .stall = 5, .seed = 4},
};
INSTANTIATE_TEST_SUITE_P(Hosts, Writes, testing::ValuesIn(kTimings));

/// Writes continue while the host has no room for a read.
TEST(WriteOrder, AReadWithoutRoomHoldsUpNoWrite) {
    PcieBench bench({.credits = 0});
    bench.fill(kBase + 0x10000, 4096);
    for (unsigned i = 0; i < 8; ++i) {
        bench.read(i, kBase + 0x10000, 1);
    }
    for (unsigned i = 0; i < 50; ++i) {
        bench.write(kBase + 64 * i, 64);
    }
    for (unsigned i = 0; i < 2000; ++i) {
        bench.cycle();
    }
    EXPECT_EQ(bench.b_seen, 50u);
    EXPECT_EQ(bench.answered, 0u);
    bench.core->timing.credits = 2;
    bench.settle();
    EXPECT_EQ(bench.wrong, "");
    EXPECT_EQ(bench.answered, 8u);
}

struct Rate {
    unsigned first, bytes, count, mps;
    double most;  // cycles a burst
};
class WriteRate : public testing::TestWithParam<Rate> {};

/// A packet has 16 bytes of descriptor: 64 bytes of a line take 2 beats, 256 take 5, 512 take 9; 32
/// bytes take 1.
TEST_P(WriteRate, CyclesABurst) {
    const Rate rate = GetParam();
    PcieBench bench({.mps = rate.mps});
    for (unsigned i = 0; i < rate.count; ++i) {
        bench.write(kBase + i % 16 * 4096 + rate.first, rate.bytes);
    }
    const std::uint64_t begin = bench.now;
    while (bench.b_seen < rate.count && bench.wrong.empty()) {
        bench.cycle();
    }
    ASSERT_EQ(bench.wrong, "");
    const double cycles = static_cast<double>(bench.now - begin) / rate.count;
    std::printf("%u bytes at %u, payload %u: %.2f cycles a burst\n", rate.bytes, rate.first,
                rate.mps, cycles);
    EXPECT_LE(cycles, rate.most);
}
INSTANTIATE_TEST_SUITE_P(Sizes, WriteRate,
                         testing::Values(Rate{0, 4096, 200, 512, 72.5},
                                         Rate{0, 4096, 200, 256, 80.5},
                                         Rate{0, 64, 2000, 256, 2.02},
                                         Rate{32, 32, 2000, 256, 1.02},
                                         Rate{0, 32, 2000, 256, 1.02}));

}  // namespace
