// SPDX-License-Identifier: BSD-2-Clause
//
// Several rings of each kind: turns, choice of the ring of a received frame, and independence of
// the rings.
#include <algorithm>

#include "eth_bench.h"

namespace dingo::rtl {
namespace {

class SeveralEthernetRings : public EthernetBench {
  protected:
    /// Completions of one ring, in order.
    static std::vector<Completion> of(const std::deque<Completion>& all, unsigned ring) {
        std::vector<Completion> some;
        std::ranges::copy_if(all, std::back_inserter(some),
                             [&](const Completion& c) { return c.ring == ring; });
        return some;
    }
    void expect_completions(Ring r) {
        for (unsigned n = 0; n < kRings; ++n) {
            EXPECT_EQ(of(done[r], n), of(expected_done[r], n)) << "ring " << n;
        }
    }
    void create_all(Ring r, unsigned log_size) {
        for (number = 0; number < kRings; ++number) {
            create(r, log_size);
        }
        number = 0;
    }
    /// A broadcast frame of a random flow.
    Frame broadcast() {
        Frame frame = random_flow(random);
        std::fill_n(frame.begin(), 6, std::byte{0xff});
        return frame;
    }
    RssKey random_key() {
        RssKey key;
        std::ranges::generate(key, [&] { return static_cast<std::uint8_t>(random()); });
        return key;
    }
    std::array<std::uint8_t, 64> random_table() {
        std::array<std::uint8_t, 64> table;
        std::ranges::generate(table, [&] { return static_cast<std::uint8_t>(random() % kRings); });
        return table;
    }
};

TEST_P(SeveralEthernetRings, EachSendsItsFramesInOrder) {
    create_all(kTx, 7);
    std::array<std::uint32_t, kRings> rung{};
    for (int round = 0; round < 150; ++round) {
        number = random() % kRings;
        if (producer[kTx][number] - consumer[kTx][number] <= 64) {  // a ring has 128 slots
            put_tx_frame();
        }
        const std::uint32_t left = producer[kTx][number] - rung[number];
        rung[number] += chance(60) ? left : random() % (left + 1);  // parts of frames, too
        ASSERT_TRUE(ring(kTx, rung[number]));
        if (chance(20)) {
            settle();
            for (const Completion& c : done[kTx]) {
                consumer[kTx][c.ring] = c.index + 1;
            }
        }
    }
    for (number = 0; number < kRings; ++number) {
        ASSERT_TRUE(ring(kTx, producer[kTx][number]));
    }
    settle();
    expect_completions(kTx);
    std::ranges::sort(out);
    std::ranges::sort(expected_out);
    const auto differs = [](const auto& a, const auto& b) {
        return a.second != b.second || (!a.second && a.first != b.first);
    };
    ASSERT_EQ(out.size(), expected_out.size());
    std::erase_if(out, [](const auto& f) { return f.second; });  // bytes undefined
    std::erase_if(expected_out, [](const auto& f) { return f.second; });
    ASSERT_EQ(out.size(), expected_out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_FALSE(differs(out[i], expected_out[i])) << i;
    }
    EXPECT_EQ(card, expected_card);
}

TEST_P(SeveralEthernetRings, TakeTurnsFrameByFrame) {
    create_all(kTx, 6);
    dut.halt_i = 1;
    for (number = 0; number < kRings; ++number) {
        for (int i = 0; i < 8; ++i) {
            put(kTx, take(64), 64, 1);
        }
        ASSERT_TRUE(ring(kTx, 8));
    }
    number = 2;
    put(kTx, take(64), 64, 1);
    ASSERT_TRUE(ring(kTx, 9));
    dut.halt_i = 0;
    settle();
    ASSERT_EQ(done[kTx].size(), 33u);
    for (unsigned i = 0; i < 32; ++i) {
        EXPECT_EQ(done[kTx][i].ring, (done[kTx][0].ring + i) % kRings) << i;
    }
    EXPECT_EQ(done[kTx][32].ring, 2u);
}

TEST_P(SeveralEthernetRings, AFrameWithoutItsEndHoldsUpNoOtherRing) {
    create_all(kTx, 6);
    number = 1;
    put(kTx, take(64), 64);
    ASSERT_TRUE(ring(kTx, 1));
    settle();
    number = 3;
    put(kTx, take(64), 64, 1);
    ASSERT_TRUE(ring(kTx, 1));
    settle();
    EXPECT_EQ(done[kTx].size(), 1u);
    number = 1;
    put(kTx, take(64), 64, 1);
    ASSERT_TRUE(ring(kTx, 2));
    settle();
    EXPECT_EQ(done[kTx].size(), 2u);
    EXPECT_EQ(done[kTx][1].index, 1u);
    EXPECT_EQ(out.size(), 2u);
}

TEST_P(SeveralEthernetRings, ADoorbellCountsInWhateverCycleItComes) {
    for (int delay = 0; delay < 150; ++delay) {
        number = static_cast<unsigned>(delay) % kRings;
        create(kTx, 3);
        put(kTx, take(64), 64, delay % 2 != 0);
        const std::uint64_t last = take(64);
        put(kTx, last, 64, 1);
        ASSERT_TRUE(ring(kTx, 1));
        for (int i = 0; i < delay / 2; ++i) {
            cycle();
        }
        ASSERT_TRUE(ring(kTx, 2));
        settle();
        ASSERT_FALSE(done[kTx].empty()) << delay;
        ASSERT_EQ(done[kTx].back().index, 1u) << delay;
        done[kTx].clear();
        const Frame& frame = out.back().first;
        ASSERT_EQ(std::memcmp(&frame[frame.size() - 64], memory.at(last), 64), 0)
            << "not of the ring that was there before";
    }
}

TEST_P(SeveralEthernetRings, ReceiveByKeyAndTable) {
    set_port(1500, true);
    create_all(kRx, 5);
    unsigned full = 0, hashed = 0;
    for (int round = 0; round < 40; ++round) {
        const RssKey key = random_key();
        const auto table = random_table();
        set_rss(&key, table);
        for (number = 0; number < kRings; ++number) {
            while (posted[number].size() < 12 && chance(90)) {
                put_rx(take(200), chance(5) ? 0 : 200);
            }
            ASSERT_TRUE(ring(kRx, producer[kRx][number]));
        }
        settle();
        for (int i = 0; i < 20; ++i) {
            const Frame frame = random_flow(random);
            const Flow flow = flow_of(frame, key);
            const unsigned to = flow.ip ? table[flow.hash % 64] : 0;
            full += posted[to].empty();
            hashed += flow.ip;
            receive(frame, to, flow);
        }
        settle();
        for (const Stored& s : stored) {
            ASSERT_EQ(std::memcmp(memory.at(s.addr), s.bytes.data(), s.bytes.size()), 0);
        }
        stored.clear();
    }
    EXPECT_EQ(done[kRx], expected_done[kRx]);
    EXPECT_EQ(card, expected_card);
    EXPECT_GT(full, 10u);
    EXPECT_GT(hashed, 300u);
}

TEST_P(SeveralEthernetRings, WhatHasNoRingGoesToTheFirstThatRuns) {
    set_port(1500, true);
    const RssKey key = random_key();
    for (unsigned there = 1; there < 1u << kRings; ++there) {
        for (number = 0; number < kRings; ++number) {
            if ((there >> number & 1) == 0) {
                destroy(kRx);
                continue;
            }
            create(kRx, 5);
            for (int i = 0; i < 32; ++i) {
                put_rx(take(200), 200);
            }
            ASSERT_TRUE(ring(kRx, 32));
        }
        const unsigned first = static_cast<unsigned>(std::countr_zero(there));
        const auto table = random_table();
        set_rss(&key, table);
        settle();
        for (int i = 0; i < 12; ++i) {
            const Frame frame = random_flow(random);
            const Flow flow = flow_of(frame, key);
            const unsigned to = table[flow.hash % 64];
            receive(frame, flow.ip && (there >> to & 1) != 0 ? to : first, flow);
        }
        settle();
    }
    EXPECT_EQ(done[kRx], expected_done[kRx]);
    EXPECT_EQ(card, expected_card);
}

TEST_P(SeveralEthernetRings, SpreadByTheCardsOwnHashOverThoseThatRun) {
    set_port(1500, true);
    const RssKey key = random_key();
    set_rss(&key, random_table());
    set_rss(nullptr, std::array<std::uint8_t, 64>{});  // RSS off again
    std::vector<Frame> flows(60);
    std::ranges::generate(flows, [&] { return broadcast(); });
    for (unsigned there = 1; there < 1u << kRings; ++there) {
        for (number = 0; number < kRings; ++number) {
            destroy(kRx);
            if ((there >> number & 1) != 0) {
                create(kRx, 7);
                for (int i = 0; i < 128; ++i) {
                    put(kRx, memory.base(), 200);
                }
                ASSERT_TRUE(ring(kRx, 128));
            }
        }
        settle();
        done[kRx].clear();
        input.assign(flows.begin(), flows.end());
        input.insert(input.end(), flows.begin(), flows.end());
        settle();
        ASSERT_EQ(done[kRx].size(), 120u);
        unsigned used = 0;
        for (unsigned i = 0; i < 60; ++i) {
            const Completion& c = done[kRx][i];
            EXPECT_EQ(c.ring, done[kRx][60 + i].ring) << "a flow stays on its ring";
            EXPECT_EQ(c.hash, 0u);
            EXPECT_FALSE(c.ports);
            used |= 1u << c.ring;
            if (!flow_of(flows[i], key).ip) {
                EXPECT_EQ(c.ring, static_cast<unsigned>(std::countr_zero(there)));
            }
        }
        EXPECT_EQ(used, there);
    }
}

TEST_P(SeveralEthernetRings, OneThatStopsLeavesTheOthersAlone) {
    create_all(kTx, 5);
    number = 1;
    create(kTx, 4, false);
    ASSERT_TRUE(ring(kTx, 1));
    settle();
    EXPECT_EQ(card[DINGO_CARD_ETH_TX_ERRORS], 1u);
    number = 2;
    fail_cq(1u << kTx);
    for (number = 0; number < kRings; ++number) {
        if (number != 1) {
            put(kTx, take(64), 64, 1);
        }
        ASSERT_TRUE(ring(kTx, 1));
    }
    settle();
    EXPECT_EQ(of(done[kTx], 0).size(), 1u);
    EXPECT_EQ(of(done[kTx], 1).size(), 0u);
    EXPECT_EQ(of(done[kTx], 2).size(), 0u);
    EXPECT_EQ(of(done[kTx], 3).size(), 1u);
    number = 2;
    create(kTx, 4);
    put(kTx, take(64), 64, 1);
    ASSERT_TRUE(ring(kTx, 1));
    settle();
    EXPECT_EQ(of(done[kTx], 2).size(), 1u);
    // Receive: the ring whose CQ failed gets nothing; the first running ring gets its frames.
    create_all(kRx, 5);
    for (number = 0; number < kRings; ++number) {
        for (int i = 0; i < 8; ++i) {
            put(kRx, memory.base(), 200);
        }
        ASSERT_TRUE(ring(kRx, 8));
    }
    number = 0;
    fail_cq(1u << kRx);
    input.push_back(Frame(60, std::byte{0xff}));
    settle();
    ASSERT_EQ(done[kRx].size(), 1u);
    EXPECT_EQ(done[kRx][0].ring, 1u);
}

INSTANTIATE_TEST_SUITE_P(Memory, SeveralEthernetRings, kTimings);

}  // namespace
}  // namespace dingo::rtl
