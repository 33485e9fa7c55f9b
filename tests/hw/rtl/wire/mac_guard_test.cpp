// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac_guard: padding of short frames; whole frames whenever the core is reset.
#include <gtest/gtest.h>

#include "Vdingo_mac_guard.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

class MacGuard : public testing::Test {
  protected:
    MacGuard() {
        dut.core_rst_ni = 1;
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
    /// Drives beat `at` of a frame on the core's transmit stream.
    void show(const Frame& frame, std::size_t at) {
        std::array<std::uint32_t, 17> beat;
        put_beat(beat.data(), frame, at, false, random);
        const BeatView view(beat.data());
        std::memcpy(&dut.tdata_i[0], beat.data(), kBeatBytes);
        dut.tkeep_i = view.bytes == 64 ? ~0ull : (1ull << view.bytes) - 1;
        dut.tlast_i = view.last;
        dut.tdest_i = std::to_integer<unsigned>(frame[0]) & 1;
    }
    /// Collects what the MAC takes: each whole frame in `sent`; frames with tuser are counted in
    /// `void_frames`.
    void take() {
        if (!dut.m_tvalid_o || !dut.m_tready_i)
            return;
        const auto bytes = static_cast<std::size_t>(__builtin_popcountll(dut.m_tkeep_o));
        const auto* from = reinterpret_cast<const std::byte*>(&dut.m_tdata_o[0]);
        part.insert(part.end(), from, from + bytes);
        EXPECT_EQ(dut.m_tdest_o, std::to_integer<unsigned>(part[0]) & 1);
        if (!dut.m_tlast_o) {
            EXPECT_EQ(bytes, 64u);
            return;
        }
        if (dut.m_tuser_o)
            ++void_frames;
        else
            sent.push_back(part);
        part.clear();
    }

    Vdingo_mac_guard dut;
    Random random{5};
    std::vector<Frame> sent;
    Frame part;
    unsigned void_frames = 0;
};

TEST_F(MacGuard, ShortFramesAreFilledWithZeros) {
    for (std::size_t bytes = 14; bytes <= 140; ++bytes) {
        const Frame frame = random_bytes(random, bytes);
        for (std::size_t at = 0; at < beats_of(bytes);) {
            show(frame, at);
            dut.tvalid_i = 1;
            dut.m_tready_i = random() % 3 != 0;
            dut.eval();
            take();
            at += dut.tready_o;
            clock();
        }
        dut.tvalid_i = 0;
        dut.m_tready_i = 1;
        dut.eval();
        take();
        clock();
        ASSERT_EQ(sent.size(), 1u) << bytes;
        ASSERT_EQ(sent[0].size(), std::max<std::size_t>(bytes, 60)) << bytes;
        Frame want = frame;
        want.resize(sent[0].size());
        EXPECT_EQ(sent[0], want) << bytes;
        sent.clear();
        EXPECT_TRUE(dut.idle_o);
    }
}

TEST_F(MacGuard, FramesAreWholeOrVoidWheneverTheCoreIsReset) {
    std::vector<Frame> begun;  // frames whose last beat was taken from the core
    Frame frame;
    std::size_t at = 0;
    unsigned reset = 0, cut = 0;
    bool stuck = false;
    for (int i = 0; i < 40'000; ++i) {
        if (reset == 0 && random() % 50 == 0) {
            reset = 16;
            cut += at != 0;
            frame.clear();
            at = 0;
            stuck = random() % 2 == 0;  // the MAC's tready is low for longer than the reset
        }
        dut.core_rst_ni = reset == 0;
        if (reset != 0)
            --reset;
        if (frame.empty() && dut.core_rst_ni)
            frame = random_bytes(random, 60 + random() % 300);
        dut.tvalid_i = !frame.empty() && random() % 4 != 0;
        if (dut.tvalid_i)
            show(frame, at);
        stuck = stuck && random() % 40 != 0;
        dut.m_tready_i = !stuck && random() % 4 != 0;
        dut.eval();
        take();
        if (dut.tvalid_i && dut.tready_o && ++at == beats_of(frame.size())) {
            begun.push_back(frame);
            frame.clear();
            at = 0;
        }
        clock();
    }
    EXPECT_GT(cut, 200u);
    EXPECT_LE(void_frames, cut);
    EXPECT_GE(void_frames + 1, cut);  // the last one may not have reached the MAC yet
    ASSERT_LE(sent.size(), begun.size());
    ASSERT_GE(sent.size() + 1, begun.size());
    for (std::size_t i = 0; i < sent.size(); ++i)
        ASSERT_EQ(sent[i], begun[i]) << i;
}

TEST_F(MacGuard, OfAFrameThatArrivesDuringAResetNothingComesIn) {
    std::size_t at = 0, beats = 3;
    unsigned reset = 0, whole = 0, begun = 0;
    bool touched = false;  // a reset fell into this frame
    std::size_t got = 0;
    for (int i = 0; i < 20'000; ++i) {
        if (reset == 0 && random() % 60 == 0)
            reset = 1 + random() % 16;
        dut.core_rst_ni = reset == 0;
        if (reset != 0)
            --reset;
        dut.s_tvalid_i = random() % 4 != 0;
        dut.s_tlast_i = at + 1 == beats;
        dut.rready_i = random() % 4 != 0;
        dut.eval();
        if (!dut.core_rst_ni) {
            EXPECT_FALSE(dut.rvalid_o);
            EXPECT_TRUE(dut.s_tready_o);
            touched = touched || at != 0 || dut.s_tvalid_i;
            got = 0;
        }
        if (dut.rvalid_o) {
            EXPECT_FALSE(touched);
            EXPECT_EQ(got, at);
        }
        if (dut.s_tvalid_i && dut.s_tready_o) {
            got += dut.rvalid_o;
            if (++at == beats) {
                whole += got == beats;
                ++begun;
                at = got = 0;
                beats = 1 + random() % 5;
                touched = false;
            }
        }
        clock();
    }
    EXPECT_GT(whole, begun / 3);
    EXPECT_LT(whole, begun);
}

}  // namespace
}  // namespace dingo::rtl
