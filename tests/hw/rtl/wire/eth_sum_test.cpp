// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_eth_sum: sums of random parts of random frames, back to back and with gaps.
#include <gtest/gtest.h>

#include <deque>

#include "Vdingo_eth_sum.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

TEST(EthSum, SumsThePartOfEachFrame) {
    Vdingo_eth_sum dut;
    Random random{3};
    std::deque<std::uint32_t> expected;
    unsigned frames = 0;
    const auto cycle = [&] {
        dut.clk_i = 0;
        dut.eval();
        dut.clk_i = 1;
        dut.eval();
        if (dut.done_o) {
            ASSERT_FALSE(expected.empty());
            EXPECT_EQ(dut.sum_o, expected.front());
            expected.pop_front();
            ++frames;
        }
    };
    dut.rst_ni = 0;
    cycle();
    dut.rst_ni = 1;
    for (int i = 0; i < 3000; ++i) {
        const std::size_t size = 1 + random() % (i % 10 == 0 ? 9234 : 300);
        Frame frame = random_bytes(random, size);
        if (i % 7 == 0) {
            std::ranges::fill(frame, static_cast<std::byte>(random() % 2 * 0xff));
        }
        const std::size_t from = random() % size / 2 * 2;
        const std::size_t to = from + random() % (size - from + 1);
        expected.push_back(internet_sum(frame, from, to));
        dut.from_i = static_cast<std::uint16_t>(from);
        dut.to_i = static_cast<std::uint16_t>(to);
        for (std::size_t beat = 0; beat < beats_of(size);) {
            dut.valid_i = random() % 4 != 0;
            std::array<std::uint32_t, 17> words;
            put_beat(words.data(), frame, beat, false, random);
            std::memcpy(&dut.data_i[0], words.data(), 64);
            dut.last_i = BeatView(words.data()).last;
            beat += dut.valid_i;
            cycle();
        }
        dut.valid_i = 0;
    }
    for (int i = 0; i < 10; ++i) {
        cycle();
    }
    EXPECT_TRUE(expected.empty());
    EXPECT_EQ(frames, 3000u);
}

}  // namespace
}  // namespace dingo::rtl
