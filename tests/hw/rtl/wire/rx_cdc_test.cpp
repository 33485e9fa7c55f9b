// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_rx_cdc: frames at the cable's rate between two clocks, whole or dropped and counted.
#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "Vdingo_rx_cdc.h"
#include "wire_bench.h"

namespace dingo::rtl {
namespace {

constexpr double kMacPeriod = 3.103;  // ns: 322.27 MHz
constexpr double kCorePeriod = 4;
constexpr double kOverhead = 24;  // bytes: FCS, preamble, gap; 12.5 bytes a ns

class RxCdc : public testing::Test {
  protected:
    RxCdc() {
        dut.mac_up_i = 1;
        dut.rst_ni = 0;
        run(100);
        dut.rst_ni = 1;
        run(100);
    }

    /// Frames of `size` bytes, numbered, back to back on the cable from now on.
    void offer(unsigned frames, const std::function<std::size_t()>& size) {
        double begin = std::max(now_, idle_from_);
        for (unsigned i = 0; i < frames; ++i) {
            Frame frame = random_bytes(random_, size());
            std::memcpy(frame.data(), &number_, sizeof number_);
            ++number_;
            const double length = static_cast<double>(frame.size()) + kOverhead;
            line_.push_back({begin, std::move(frame)});
            begin += length / 12.5;
        }
        idle_from_ = begin;
    }

    void run(double ns) {
        for (const double end = now_ + ns; now_ < end;) {
            const bool mac = mac_at_ <= core_at_;
            now_ = mac ? mac_at_ : core_at_;
            (mac ? mac_at_ : core_at_) += mac ? kMacPeriod : kCorePeriod;
            mac ? mac_cycle() : core_cycle();
        }
    }

    void mac_cycle() {
        dut.s_tvalid_i = !line_.empty() && line_.front().begin <= now_;
        if (dut.s_tvalid_i) {
            const Frame& frame = line_.front().frame;
            std::array<std::uint32_t, 17> beat;
            put_beat(beat.data(), frame, at_, false, random_);
            const BeatView view(beat.data());
            std::memcpy(&dut.s_tdata_i[0], beat.data(), kBeatBytes);
            dut.s_tkeep_i = view.bytes == 64 ? ~0ull : (1ull << view.bytes) - 1;
            dut.s_tlast_i = view.last;
            if (dut.mac_up_i && ++at_ == beats_of(frame.size())) {
                given_.push_back(frame);
                line_.pop_front();
                at_ = 0;
            }
        }
        dut.eval();
        dut.mac_clk_i = 1;
        dut.eval();
        dut.mac_clk_i = 0;
        dut.eval();
    }

    void core_cycle() {
        dut.m_tready_i = taking_ && random_() % 100 < ready_percent_;
        dut.eval();
        dropped_ += dut.dropped_o;
        if (dut.m_tvalid_o && dut.m_tready_i) {
            const auto* from = reinterpret_cast<const std::byte*>(&dut.m_tdata_o[0]);
            part_.insert(part_.end(), from, from + __builtin_popcountll(dut.m_tkeep_o));
            if (dut.m_tlast_o) {
                if (dut.m_tuser_o)
                    ++bad_;
                else
                    came_.push_back(part_);
                part_.clear();
            }
        }
        dut.clk_i = 1;
        dut.eval();
        dut.clk_i = 0;
        dut.eval();
    }

    /// Every frame that came is one that was given, in order; the others were counted.
    void check() {
        EXPECT_EQ(came_.size() + dropped_, given_.size());
        std::size_t next = 0;
        for (const Frame& frame : came_) {
            while (next < given_.size() && given_[next] != frame)
                ++next;
            ASSERT_LT(next, given_.size());
            ++next;
        }
    }

    struct Travelling {
        double begin;
        Frame frame;
    };
    Vdingo_rx_cdc dut;
    Random random_{11};
    double idle_from_ = 0;  // of the cable
    double now_ = 0, mac_at_ = 0, core_at_ = 1;
    std::deque<Travelling> line_;
    std::size_t at_ = 0;
    std::uint32_t number_ = 0;
    std::vector<Frame> given_, came_;
    Frame part_;
    std::uint64_t dropped_ = 0, bad_ = 0;
    bool taking_ = true;
    unsigned ready_percent_ = 100;
};

TEST_F(RxCdc, NothingIsLostWhereTheCardKeepsUp) {
    offer(2'000, [] { return 64; });
    offer(2'000, [this] { return 128 + random_() % 1390; });
    offer(200, [] { return 9000; });
    run(1'000'000);
    EXPECT_EQ(dropped_, 0u);
    EXPECT_EQ(came_.size(), 4'200u);
    check();
}

TEST_F(RxCdc, ShortFramesBackToBackAreDroppedWholeAndCounted) {
    offer(20'000, [] { return 65; });
    run(300'000);
    EXPECT_GT(dropped_, 1'000u);  // 281 M beats/s against 250
    EXPECT_LT(dropped_, 4'000u);
    check();
}

TEST_F(RxCdc, ACardThatDoesNotTakeLosesWholeFrames) {
    ready_percent_ = 60;
    for (unsigned i = 0; i < 30; ++i) {
        offer(40, [this] { return random_() % 10 == 0 ? 9000 : 60 + random_() % 1440; });
        taking_ = i % 3 != 1;
        run(8'000);
    }
    taking_ = true;
    run(200'000);
    EXPECT_GT(dropped_, 50u);
    EXPECT_GT(came_.size(), 300u);
    check();
}

TEST_F(RxCdc, AFrameThatEndsWithTheMacIsBad) {
    for (unsigned i = 0; i < 50; ++i) {
        line_.clear();
        at_ = 0;
        idle_from_ = 0;
        offer(1, [] { return 3000; });
        run(20 + random_() % 100);
        ASSERT_FALSE(line_.empty());
        ASSERT_NE(at_, 0u);
        dut.mac_up_i = 0;
        run(30);
        dut.mac_up_i = 1;
        line_.clear();
        at_ = 0;
        idle_from_ = 0;
        offer(1, [] { return 200; });
        run(300);
        ASSERT_EQ(bad_, i + 1);
        ASSERT_EQ(came_.size(), i + 1);
        EXPECT_EQ(came_.back(), given_.back());
    }
    EXPECT_EQ(dropped_, 0u);
}

TEST_F(RxCdc, OfATooLongFrameTheMiddleIsLeftOut) {
    offer(3, [] { return 12'000; });
    run(20'000);
    ASSERT_EQ(came_.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(came_[i].size(), 144 * kBeatBytes + 12'000 % kBeatBytes);
}

}  // namespace
}  // namespace dingo::rtl
