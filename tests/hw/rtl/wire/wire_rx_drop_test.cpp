// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_wire_rx as on a board (DropWhenFull): tready is always high; a frame that finds no room is
// dropped whole and counted; all others come out whole and in order.
#include <gtest/gtest.h>

#include "Vdingo_wire_rx.h"
#include "dingo_hw.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

TEST(WireRxOnABoard, DropsWholeFramesWhenNobodyTakesThem) {
    Vdingo_wire_rx dut;
    Random random(3);
    const auto clock = [&dut] {
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    };
    dut.port_i = 1u << 18 | 1500;
    dut.link_i = 1;
    dut.rst_ni = 0;
    clock();
    clock();
    dut.rst_ni = 1;
    std::vector<Frame> sent;
    for (unsigned i = 0; i < 600; ++i) {
        sent.push_back(random_bytes(random, i % 20 == 0   ? 9000
                                            : i % 31 == 0 ? 12'000
                                                          : 60 + random() % 1400));
        sent.back()[0] = std::byte{0x02};
        std::memcpy(sent.back().data() + 2, &i, sizeof i);
        sent.back()[12] = std::byte{0x88};
    }
    std::size_t at = 0, frame = 0, came = 0, longest = 0;
    std::uint64_t dropped = 0;
    std::uint32_t next = 0;
    Frame got;
    for (int cycle = 0; cycle < 60'000; ++cycle) {
        dut.s_axis_tvalid_i = frame < sent.size() && random() % 10 != 0;
        if (dut.s_axis_tvalid_i) {
            std::array<std::uint32_t, 17> beat;
            put_beat(beat.data(), sent[frame], at, false, random);
            const BeatView view(beat.data());
            std::memcpy(&dut.s_axis_tdata_i[0], beat.data(), 64);
            dut.s_axis_tkeep_i = view.bytes == 64 ? ~0ull : (1ull << view.bytes) - 1;
            dut.s_axis_tlast_i = view.last;
            if (++at == beats_of(sent[frame].size())) {
                at = 0;
                ++frame;
            }
        }
        dut.eth_ready_i = cycle / 4000 % 2 == 1;  // eth_ready_i is low for 4,000 cycles at a time
        dut.stat_ready_i = random() % 4 == 0;
        dut.eval();
        ASSERT_TRUE(dut.s_axis_tready_o);
        ASSERT_FALSE(dut.rxh_valid_o);
        if (dut.stat_valid_o && dut.stat_ready_i) {
            ASSERT_EQ(dut.stat_o >> 16, static_cast<unsigned>(DINGO_CARD_ETH_RX_NO_BUFFER));
            dropped += dut.stat_o & 0xffff;
        }
        if (dut.eth_valid_o && dut.eth_ready_i) {
            const BeatView view(&dut.eth_o[0]);
            const auto* from = reinterpret_cast<const std::byte*>(&dut.eth_o[0]);
            got.insert(got.end(), from, from + view.bytes);
            if (view.last) {
                std::uint32_t number = 0;
                std::memcpy(&number, got.data() + 2, sizeof number);
                ASSERT_GE(number, next) << "out of order";
                ASSERT_LT(number, sent.size());
                const Frame& want = sent[number];
                longest = std::max(longest, want.size());
                ASSERT_EQ(got.size(), std::min<std::size_t>(want.size(), 145 * kBeatBytes));
                ASSERT_TRUE(std::equal(got.begin(), got.end(), want.begin()));
                next = number + 1;
                ++came;
                got.clear();
            }
        }
        clock();
    }
    EXPECT_EQ(frame, sent.size());
    EXPECT_EQ(came + dropped, sent.size());
    EXPECT_GT(dropped, 50u);
    EXPECT_GT(came, 50u);
    EXPECT_GT(longest, 145 * kBeatBytes);
    EXPECT_TRUE(dut.idle_o);
}

}  // namespace
}  // namespace dingo::rtl
