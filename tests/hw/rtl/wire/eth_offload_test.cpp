// SPDX-License-Identifier: BSD-2-Clause
//
// Offloads of the Ethernet function: TSO of random frames in random pieces on several rings,
// compared byte by byte; checksums to send; verdicts on checksums of received frames.
#include <algorithm>

#include "eth_bench.h"

namespace dingo::rtl {
namespace {

constexpr unsigned kEop = DINGO_ETH_DESC_FLAGS_EOP_MASK;
constexpr unsigned kCsum = DINGO_ETH_DESC_FLAGS_CSUM_MASK;
constexpr unsigned kTso = DINGO_ETH_DESC_FLAGS_TSO_MASK;

class EthernetOffloads : public EthernetBench {
  protected:
    void SetUp() override {
        EthernetBench::SetUp();
        dut.offloads_i = 1;
    }
    /// Writes the descriptors of a frame in random pieces.
    void put_pieces(const Frame& frame, unsigned flags, std::size_t start, std::size_t arg,
                    std::size_t most) {
        unsigned reserved = static_cast<unsigned>(start / 2 | arg << 8);
        for (std::size_t at = 0; at < frame.size();) {
            const std::size_t n =
                std::min(frame.size() - at, 1 + random() % most + (at == 0 ? 0 : most / 2));
            const std::uint64_t addr = take(n);
            std::memcpy(memory.at(addr), frame.data() + at, n);
            at += n;
            put(kTx, addr, static_cast<std::uint32_t>(n), flags | (at == frame.size() ? kEop : 0),
                reserved);
            flags = reserved = 0;
        }
    }
    void expect_sent(const Frame& frame) {
        expected_out.push_back({frame, false});
        ++expected_card[DINGO_CARD_ETH_TX_PACKETS];
        expected_card[DINGO_CARD_ETH_TX_BYTES] += frame.size();
    }
    void expect_done(std::size_t bytes, bool good = true) {
        expected_done[kTx].push_back(
            {producer[kTx][number] - 1, static_cast<std::uint32_t>(good ? bytes : 0),
             good ? unsigned{DINGO_WCS_SUCCESS} : unsigned{DINGO_WCS_LOC_QP_OP_ERR}, number});
        expected_card[DINGO_CARD_ETH_TX_ERRORS] += !good;
    }
    /// Expects the segments of a frame.
    void expect_segments(const IpFrame& kind, const Frame& whole, std::size_t mss) {
        const std::size_t payload = whole.size() - kind.headers();
        std::uint32_t n = 0;
        for (std::size_t at = 0; at < payload; at += mss, ++n) {
            const std::size_t bytes = std::min(mss, payload - at);
            const auto from = whole.begin() + static_cast<std::ptrdiff_t>(kind.headers() + at);
            Frame one(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kind.headers()));
            one.insert(one.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
            if (kind.v4) {
                put_be16(one, kind.l3() + 2, static_cast<std::uint32_t>(one.size() - kind.l3()));
                put_be16(one, kind.l3() + 4, be16_at(whole, kind.l3() + 4) + n);
            } else {
                put_be16(one, kind.l3() + 4, static_cast<std::uint32_t>(one.size() - kind.l4()));
            }
            const std::size_t tcp = kind.l4();
            const std::uint32_t seq = (be16_at(whole, tcp + 4) << 16 | be16_at(whole, tcp + 6)) +
                                      static_cast<std::uint32_t>(at);
            put_be16(one, tcp + 4, seq >> 16);
            put_be16(one, tcp + 6, seq);
            if (n != 0) {
                one[tcp + 13] &= ~std::byte{0x80};
            }
            if (at + bytes < payload) {
                one[tcp + 13] &= ~std::byte{0x09};
            }
            kind.make_right(one);
            expect_sent(one);
        }
    }
    void compare() {
        settle(2'000'000);
        for (unsigned n = 0; n < kRings; ++n) {
            const auto of = [n](const std::deque<Completion>& all) {
                std::vector<Completion> some;
                std::ranges::copy_if(all, std::back_inserter(some),
                                     [n](const Completion& c) { return c.ring == n; });
                return some;
            };
            EXPECT_EQ(of(done[kTx]), of(expected_done[kTx])) << "ring " << n;
        }
        std::ranges::sort(out);
        std::ranges::sort(expected_out);
        ASSERT_EQ(out.size(), expected_out.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i].first.size(), expected_out[i].first.size());
            ASSERT_TRUE(out[i] == expected_out[i])
                << i << ", byte "
                << std::ranges::mismatch(out[i].first, expected_out[i].first).in1 -
                       out[i].first.begin();
        }
        EXPECT_EQ(card, expected_card);
        out.clear();
        expected_out.clear();
        done[kTx].clear();
        expected_done[kTx].clear();
    }
};

TEST_P(EthernetOffloads, CutsRandomFramesOfSeveralRings) {
    for (number = 0; number < kRings; ++number) {
        create(kTx, 8);
    }
    for (int round = 0; round < 25 && !HasFatalFailure(); ++round) {
        for (number = 0; number < kRings; ++number) {
            for (int i = 0; i < 2; ++i) {
                IpFrame kind = IpFrame::any(random);
                kind.tcp = true;
                kind.payload = 1 + random() % 6000;
                const Frame whole = kind.make(random);
                const std::size_t mss = 1 + random() % (1514 - kind.headers());
                if (kind.payload / mss > 40) {
                    continue;
                }
                Frame asked = whole;
                put_be16(asked, kind.checksum(), random());  // the value there must not matter
                put_pieces(asked, kTso, kind.l4(), mss, 1 + whole.size() / (1 + random() % 20));
                expect_segments(kind, whole, mss);
                expect_done(whole.size());
            }
            ASSERT_TRUE(ring(kTx, producer[kTx][number]));
        }
        compare();
    }
}

TEST_P(EthernetOffloads, FillsInChecksumsAtAnyPlace) {
    create(kTx, 8);
    for (int round = 0; round < 100 && !HasFatalFailure(); ++round) {
        const std::size_t size = 16 + random() % 600;
        Frame frame = random_bytes(random, size);
        frame[12] = std::byte{0x08};
        const std::size_t start = random() % std::min<std::size_t>(size + 4, 512) / 2 * 2;
        const std::size_t arg = random() % (size + 4);
        const bool good = start >= 14 && start + arg + 2 <= size;
        put_pieces(frame, kCsum, start, arg, size);
        if (good) {
            EthCsum{true, true, start, start + arg, size}.fill_in(frame);
            expect_sent(frame);
        }
        expect_done(size, good);
        ASSERT_TRUE(ring(kTx, producer[kTx][number]));
        if (chance(30)) {
            compare();
        }
    }
    compare();
}

TEST_P(EthernetOffloads, WhatCannotBeCutIsRefused) {
    create(kTx, 8);
    for (int round = 0; round < 80 && !HasFatalFailure(); ++round) {
        IpFrame kind = IpFrame::any(random);
        kind.tcp = true;
        kind.payload = 10 + random() % 500;
        Frame whole = kind.make(random);
        std::size_t start = kind.l4(), mss = 100;
        switch (round % 8) {
            case 0:
                start += 2;
                break;
            case 1:
                mss = 0;
                break;
            case 2:
                mss = 1515 - kind.headers() + (kind.tagged ? 4 : 0);
                kind.payload = 2000;
                whole = kind.make(random);
                break;
            case 3:
                whole[kind.l3() + (kind.v4 ? 9 : 6)] = std::byte{17};
                break;
            case 4:
                whole[kind.l4() + 12] = std::byte{0x40};
                break;
            case 5:
                whole.resize(kind.headers() - random() % 20);
                break;
            case 6:
                whole[kind.l3() - 2] = std::byte{0x88};
                break;
            default:
                put(kTx, memory.base() - 8192, 1000, kTso | kEop,
                    static_cast<unsigned>(kind.l4() / 2 | 100 << 8));
                expect_done(0, false);
                continue;
        }
        put_pieces(whole, kTso, start, mss, whole.size());
        expect_done(0, false);
        ASSERT_TRUE(ring(kTx, producer[kTx][number]));
        compare();
    }
}

TEST_P(EthernetOffloads, APieceThatCannotBeReadEndsTheFrameAndNotTheRing) {
    create(kTx, 5);
    IpFrame kind;
    kind.payload = 500;
    const Frame whole = kind.make(random);
    const std::uint64_t addr = take(whole.size());
    std::memcpy(memory.at(addr), whole.data(), whole.size());
    put(kTx, addr, 300, kTso, static_cast<unsigned>(kind.l4() / 2 | 100 << 8));
    put(kTx, memory.base() - 8192, 254, kEop);
    ASSERT_TRUE(ring(kTx, 2));
    settle();
    ASSERT_EQ(done[kTx].size(), 1u);
    EXPECT_EQ(done[kTx][0].status, unsigned{DINGO_WCS_LOC_QP_OP_ERR});
    EXPECT_EQ(done[kTx][0].index, 1u);
    EXPECT_EQ(card[DINGO_CARD_ETH_TX_ERRORS], 1u);
    ASSERT_EQ(out.size(), 3u) << "two segments, and one that is spoilt";
    EXPECT_TRUE(out[2].second);
    put(kTx, addr, 100, kEop);
    ASSERT_TRUE(ring(kTx, 3));
    settle();
    EXPECT_EQ(done[kTx].size(), 2u);
    EXPECT_EQ(done[kTx][1].bytes, 100u);
}

TEST_P(EthernetOffloads, AHaltComesBetweenSegmentsAndADestroyedRingForgetsThem) {
    create(kTx, 5);
    IpFrame kind;
    kind.payload = 8000;
    const Frame whole = kind.make(random);
    put_pieces(whole, kTso, kind.l4(), 100, whole.size());
    ASSERT_TRUE(ring(kTx, producer[kTx][0]));
    while (out.size() < 5) {
        cycle();
    }
    dut.halt_i = 1;
    for (int limit = 3000; dut.idle_o != 3 && limit > 0; --limit) {
        cycle();
    }
    ASSERT_EQ(dut.idle_o, 3);
    EXPECT_LT(out.size(), 10u);
    destroy(kTx);
    create(kTx, 5);
    put(kTx, take(64), 64, kEop);
    ASSERT_TRUE(ring(kTx, 1));
    dut.halt_i = 0;
    out.clear();
    settle();
    EXPECT_EQ(out.size(), 1u);
    ASSERT_EQ(done[kTx].size(), 1u);
    EXPECT_EQ(done[kTx][0].bytes, 64u);
}

TEST_P(EthernetOffloads, ReceivedChecksumsAreLookedAt) {
    set_port(1500, true);
    create(kRx, 9);
    unsigned right = 0;
    for (int i = 0; i < 400; ++i) {
        const IpFrame kind = IpFrame::any(random);
        Frame frame = kind.make(random);
        if (chance(40)) {
            frame[kind.l3() + random() % (frame.size() - kind.l3())] ^=
                static_cast<std::byte>(1u << random() % 8);
        }
        if (chance(30)) {
            frame.resize(frame.size() + random() % 20, std::byte{0x5a});
        }
        const Flow flow = flow_of(frame, RssKey{});
        const bool ok =
            flow.summed &&
            internet_sum(frame, flow.l4, flow.end,
                         flow.pseudo + static_cast<std::uint32_t>(flow.end - flow.l4)) == 0xffff;
        right += ok;
        put_rx(take(1000), 1000);
        ASSERT_TRUE(ring(kRx, producer[kRx][0]));
        receive(frame);
        expected_done[kRx].back().csum_ok = ok;
        if (chance(20)) {
            settle();
        }
    }
    settle();
    EXPECT_EQ(done[kRx], expected_done[kRx]);
    EXPECT_GT(right, 150u);
    EXPECT_LT(right, 350u);
}

INSTANTIATE_TEST_SUITE_P(Memory, EthernetOffloads, kTimings);

}  // namespace
}  // namespace dingo::rtl
