// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_tx_mux: packets of two engines get one order for headers and payload, and a packet that is
// begun while `room` is up never waits.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <random>
#include <vector>

#include "../support/packed.h"
#include "Vdingo_tx_mux.h"
#include "rtl_types.h"

namespace {

using rtl::Seg;
using rtl::Txd;

struct Beat {
    bool err = false, last = false;
    std::uint8_t bytes = 0;
    std::array<std::uint32_t, 16> data{};
    template <class V>
    void fields(V& v) {
        v(err, 1), v(last, 1), v(bytes, 7), v(data, 512);
    }
};

/// A packet of an engine, begun while `room` was up.
struct Packet {
    Txd head;
    std::deque<Seg> segs;
    std::deque<Beat> beats;
};

class TxMux : public testing::TestWithParam<unsigned> {
  protected:
    TxMux() : random(GetParam()) {
        dut.rst_ni = 0;
        clock();
        dut.rst_ni = 1;
    }
    void clock() {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }
    Packet make(unsigned engine, std::uint32_t number) {
        Packet p;
        p.head.from_rsp = engine != 0;
        p.head.psn = number;
        switch (random() % (engine == 0 ? 3 : 2)) {
            case 0:
                break;  // no payload
            case 1: {
                const unsigned count = 1 + random() % 16;
                p.head.len = static_cast<std::uint16_t>(count * 7);
                for (unsigned i = 0; i < count; ++i) {
                    Seg s;
                    s.last = i + 1 == count;
                    s.len = 7;
                    s.off = (std::uint64_t{engine} << 40) + number * 100 + i;
                    p.segs.push_back(s);
                }
                break;
            }
            default: {
                const unsigned count = 1 + random() % 8;
                p.head.inl = true;
                p.head.len = static_cast<std::uint16_t>(count * 64);
                for (unsigned i = 0; i < count; ++i) {
                    Beat b;
                    b.last = i + 1 == count;
                    b.bytes = 64;
                    b.data[0] = number * 100 + i;
                    p.beats.push_back(b);
                }
                break;
            }
        }
        return p;
    }

    Vdingo_tx_mux dut;
    std::mt19937 random;
};

TEST_P(TxMux, KeepsThePacketsOfEachEngineInOrderAndTheirSegmentsWithThem) {
    constexpr unsigned kPackets = 400;
    const unsigned stall = GetParam() % 4 * 25;
    std::array<std::uint32_t, 2> begun{};
    std::array<std::uint32_t, 2> arrived{};
    std::array<Packet, 2> current;
    std::array<bool, 2> head_left{};
    std::array<std::deque<Packet>, 2> sent;
    std::deque<Seg> expected_segs;
    std::deque<Seg> early_segs;  // came out before the descriptor of their packet
    std::deque<Beat> expected_beats, early_beats;
    const auto pushing = [&] {
        return !current[0].segs.empty() || !current[1].segs.empty() || !current[0].beats.empty();
    };
    for (unsigned cycle = 0;
         cycle < 100'000 && (arrived[0] + arrived[1] < 2 * kPackets || pushing()); ++cycle) {
        dut.eval();
        for (unsigned e = 0; e < 2; ++e)
            if (!head_left[e] && current[e].segs.empty() && current[e].beats.empty() &&
                begun[e] < kPackets && (dut.room_o >> e & 1) != 0 && random() % 100 >= stall) {
                current[e] = make(e, begun[e]++);
                sent[e].push_back(current[e]);
                head_left[e] = true;
            }
        dut.txd_valid_i = head_left[0] | head_left[1] << 1;
        dut.seg_valid_i = (!head_left[0] && !current[0].segs.empty()) |
                          (!head_left[1] && !current[1].segs.empty()) << 1;
        dut.inl_valid_i = !head_left[0] && !current[0].beats.empty();
        rtl::drive(dut.req_txd_i, current[0].head);
        rtl::drive(dut.rsp_txd_i, current[1].head);
        if (!current[0].segs.empty())
            rtl::drive(dut.req_seg_i, current[0].segs.front());
        if (!current[1].segs.empty())
            rtl::drive(dut.rsp_seg_i, current[1].segs.front());
        if (!current[0].beats.empty())
            rtl::drive(dut.inl_i, current[0].beats.front());
        dut.txd_ready_i = random() % 100 >= stall;
        dut.seg_ready_i = random() % 100 >= stall;
        dut.inl_ready_i = random() % 100 >= stall;
        dut.eval();
        // A packet that was begun while `room` was up never waits.
        ASSERT_EQ(dut.txd_valid_i & ~dut.txd_ready_o, 0);
        ASSERT_EQ(dut.seg_valid_i & ~dut.seg_ready_o, 0);
        ASSERT_TRUE(!dut.inl_valid_i || dut.inl_ready_o);
        if (dut.seg_valid_o && dut.seg_ready_i)
            early_segs.push_back(rtl::sample<Seg>(dut.seg_o));
        if (dut.inl_valid_o && dut.inl_ready_i)
            early_beats.push_back(rtl::sample<Beat>(dut.inl_o));
        if (dut.txd_valid_o && dut.txd_ready_i) {
            const auto head = rtl::sample<Txd>(dut.txd_o);
            const unsigned e = head.from_rsp;
            ASSERT_EQ(head.psn, arrived[e]++);
            const Packet& p = sent[e].front();
            ASSERT_EQ(head.len, p.head.len);
            ASSERT_EQ(head.inl, p.head.inl);
            expected_segs.insert(expected_segs.end(), p.segs.begin(), p.segs.end());
            expected_beats.insert(expected_beats.end(), p.beats.begin(), p.beats.end());
            sent[e].pop_front();
        }
        for (; !early_segs.empty() && !expected_segs.empty();
             early_segs.pop_front(), expected_segs.pop_front()) {
            ASSERT_EQ(early_segs.front().off, expected_segs.front().off);
            ASSERT_EQ(early_segs.front().last, expected_segs.front().last);
        }
        for (; !early_beats.empty() && !expected_beats.empty();
             early_beats.pop_front(), expected_beats.pop_front())
            ASSERT_EQ(early_beats.front().data, expected_beats.front().data);
        const bool busy = head_left[0] || head_left[1] || dut.txd_valid_o;
        if (busy && dut.txd_valid_o) {
            ASSERT_FALSE(dut.idle_o);
        }
        for (unsigned e = 0; e < 2; ++e) {
            if (head_left[e])
                head_left[e] = false;
            else if (!current[e].segs.empty())
                current[e].segs.pop_front();
            else if (!current[e].beats.empty())
                current[e].beats.pop_front();
        }
        clock();
    }
    EXPECT_EQ(arrived[0], kPackets);
    EXPECT_EQ(arrived[1], kPackets);
    for (int i = 0; i < 200; ++i) {
        dut.txd_valid_i = dut.seg_valid_i = dut.inl_valid_i = 0;
        dut.txd_ready_i = dut.seg_ready_i = dut.inl_ready_i = 1;
        dut.eval();
        if (dut.seg_valid_o)
            expected_segs.pop_front();
        if (dut.inl_valid_o)
            expected_beats.pop_front();
        clock();
    }
    EXPECT_TRUE(expected_segs.empty());
    EXPECT_TRUE(expected_beats.empty());
    EXPECT_TRUE(dut.idle_o);
    EXPECT_EQ(dut.room_o, 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TxMux, testing::Range(0U, 8U));

// Packets have 16 segments; the engine's queue of 64 must keep room for two packets (SEG_ROOM).
TEST(TxMuxRoom, EndsWhenNothingLeavesAndHoldsUpOnlyItsEngine) {
    Vdingo_tx_mux dut;
    const auto clock = [&] {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    };
    dut.rst_ni = 0;
    clock();
    dut.rst_ni = 1;
    Txd head;
    head.len = 64;
    Seg seg;
    seg.len = 4;
    rtl::drive(dut.req_txd_i, head);
    rtl::drive(dut.req_seg_i, seg);
    dut.eval();
    unsigned packets = 0;
    for (; packets < 1000 && (dut.room_o & 1) != 0; ++packets) {
        dut.txd_valid_i = 1;
        clock();
        dut.txd_valid_i = 0;
        for (unsigned i = 0; i < 16; ++i) {
            seg.last = i == 15;
            rtl::drive(dut.req_seg_i, seg);
            dut.seg_valid_i = 1;
            dut.eval();
            ASSERT_NE(dut.seg_ready_o & 1, 0);
            clock();
        }
        dut.seg_valid_i = 0;
        clock();
    }
    EXPECT_GE(packets, 2U);
    EXPECT_LT(packets, 8U);
    EXPECT_EQ(dut.room_o, 2);
    dut.txd_ready_i = dut.seg_ready_i = 1;
    for (int i = 0; i < 300; ++i)
        clock();
    EXPECT_EQ(dut.room_o, 3);
    EXPECT_TRUE(dut.idle_o);
}

}  // namespace
