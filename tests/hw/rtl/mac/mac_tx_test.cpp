// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac, from the card to the MAC: whole frames without a gap, or none.
#include <algorithm>

#include "mac_bench.h"

namespace dingo::rtl {
namespace {

class MacTx : public Mac {
  protected:
    void some_frames(unsigned n, unsigned void_percent = 0) {
        for (unsigned i = 0; i < n; ++i) {
            const unsigned kind = random() % 8;
            card_sends(numbered(kind == 0   ? 60 + random() % 9541
                                : kind == 1 ? 60 + random() % 12
                                            : 60 + random() % 1440),
                       random() % 2 == 0, random() % 100 < void_percent);
        }
    }
    /// Missing frames; RoCE frames keep their order, and so do the others.
    std::size_t missing_frames() {
        std::size_t lost = 0;
        for (const bool roce : {false, true}) {
            std::vector<Sent> given;
            std::vector<Received> came;
            for (const Sent& s : card_gave)
                if (s.roce == roce)
                    given.push_back(s);
            for (const Received& r : mac_got) {
                const auto is = [&](const Sent& s) { return s.roce == roce && s.frame == r.frame; };
                if (std::find_if(card_gave.begin(), card_gave.end(), is) != card_gave.end())
                    came.push_back(r);
            }
            lost += missing(given, came);
            found_ += came.size();
        }
        EXPECT_EQ(found_, mac_got.size());  // every frame that came was given
        return lost;
    }
    std::size_t found_ = 0;
};

class MacTxClocks : public MacTx, public testing::WithParamInterface<Clocks> {};

TEST_P(MacTxClocks, FramesOfAllSizesCrossWholeAndWithoutAGap) {
    clocks(GetParam());
    for (const unsigned percent : {100u, 60u, 20u}) {
        card_gives = percent;
        mac_takes = percent == 20 ? 100 : percent;
        some_frames(250);
        settle();
    }
    EXPECT_EQ(mac_got.size(), 750u);
    EXPECT_EQ(missing_frames(), 0u);
    EXPECT_EQ(gaps, 0u);
    EXPECT_EQ(status().tx_lost + status().tx_void, 0u);
}

INSTANTIATE_TEST_SUITE_P(Unrelated, MacTxClocks,
                         testing::Values(Clocks{4, kMacPeriod, kMacPeriod},
                                         Clocks{kMacPeriod, 4, 4}, Clocks{1.7, 5.3, 4.9},
                                         Clocks{7.9, 2.1, 2.3}, Clocks{4, 3.999, 4.001}));

TEST_F(MacTx, SixtyFiveBytesBackToBackLeaveAtTheCablesRate) {
    for (unsigned i = 0; i < 4'000; ++i)
        card_sends(numbered(65), i % 2 == 0);
    mac_at_cable_rate = true;
    clocks({3.5, kMacPeriod, kMacPeriod});  // 4 ns give 125 M frames/s, the cable takes 140 M
    settle();
    ASSERT_EQ(mac_got.size(), 4'000u);
    const double ns = (mac_got.back().at - mac_got.front().at) / 3'999;
    EXPECT_LT(ns, (65 + kOverhead) / kRate * 1.01);
    EXPECT_EQ(missing_frames(), 0u);
}

TEST_F(MacTx, VoidFramesAreDroppedAndCounted) {
    some_frames(600, 30);
    settle();
    EXPECT_GT(status().tx_void, 100u);
    EXPECT_EQ(card_gave.size() + status().tx_void, 600u);
    EXPECT_EQ(missing_frames(), 0u);
}

/// A frame that the MAC has begun to take ends with tuser; its beats are not repeated.
TEST_F(MacTx, ALinkThatIsLostLeavesNoOpenFrameAndEveryFrameIsCounted) {
    expect_whole = false;
    for (unsigned i = 0; i < 300; ++i) {
        some_frames(3);
        mac_takes = 30 + random() % 70;
        run(random() % 1000);
        dut.mac_tx_link_i = 0;
        if (i % 3 == 0)
            mac_takes = 0;  // nor does the MAC take the end of the frame
        run(20 + random() % 200);
        dut.mac_tx_link_i = 1;
    }
    mac_takes = 100;
    settle();
    EXPECT_GT(mac_cut, 30u);
    EXPECT_GT(mac_got.size(), 200u);
    EXPECT_TRUE(mac_part.empty());
    EXPECT_EQ(gaps, 0u);
    EXPECT_EQ(missing_frames(), status().tx_lost);
    expect_whole = true;
    found_ = 0;
    const std::size_t before = mac_got.size();
    some_frames(50);
    settle();
    EXPECT_EQ(mac_got.size(), before + 50);
}

TEST_F(MacTx, NobodyWaitsForALinkEvenIfTheMacTakesNothing) {
    expect_whole = false;
    mac_takes = 0;
    card_sends(numbered(9'000), true);
    run(1'000);
    dut.mac_tx_link_i = 0;
    some_frames(300);
    settle();
    EXPECT_TRUE(out_.empty());
    EXPECT_EQ(status().tx_lost, 301u);
    mac_takes = 100;
    settle();
    EXPECT_EQ(mac_cut, 1u);
    EXPECT_TRUE(mac_got.empty());
}

TEST_F(MacTx, AResetOfTheCardLeavesNoHalfFrame) {
    expect_whole = false;  // a frame that the MAC has begun to take ends with tuser
    unsigned cut = 0;
    for (unsigned i = 0; i < 300; ++i) {
        some_frames(3);
        mac_takes = 30 + random() % 70;
        card_gives = 30 + random() % 70;
        run(random() % 1000);
        dut.rst_ni = 0;
        cut += out_at != 0;
        out_.clear();  // a card in reset drops its frames
        out_at = 0;
        run(8 + random() % 80);
        dut.rst_ni = 1;
    }
    settle();
    EXPECT_GT(cut, 30u);
    EXPECT_EQ(status().tx_void, cut);
    EXPECT_GE(missing_frames(), status().tx_lost);  // frames in the FIFOs are not counted
    EXPECT_TRUE(mac_part.empty());
    EXPECT_GT(mac_cut, 10u);
    EXPECT_GT(mac_got.size(), 200u);
    EXPECT_EQ(gaps, 0u);
}

TEST_F(MacTx, AResetOfTheMacLeavesNoHalfFrameAndHoldsNobodyUp) {
    unsigned cut = 0;
    for (unsigned i = 0; i < 300; ++i) {
        some_frames(3);
        mac_takes = 30 + random() % 70;
        run(random() % 1000);
        dut.mac_tx_up_i = 0;
        cut += !mac_part.empty();
        mac_part.clear();
        const std::size_t before = mac_got.size();
        run(20 + random() % 80);
        EXPECT_EQ(mac_got.size(), before);
        dut.mac_tx_up_i = 1;
    }
    settle();
    EXPECT_GT(cut, 30u);
    EXPECT_GT(mac_got.size(), 200u);
    EXPECT_GE(missing_frames(), status().tx_lost);  // frames in the FIFOs are not counted

    dut.mac_tx_up_i = 0;
    run(200);
    const std::uint32_t before = status().tx_lost;
    some_frames(300);
    settle();  // with the MAC in reset frames are dropped and nothing waits
    EXPECT_TRUE(out_.empty());
    EXPECT_EQ(status().tx_lost, before + 300);
}

TEST_F(MacTx, ACardThatStopsWhenToldFindsRoomForWhatItHasBegun) {
    mac_takes = 0;
    card_obeys = true;
    for (unsigned i = 0; i < 40; ++i)
        card_sends(numbered(4'170), true);
    run(10'000);
    EXPECT_TRUE(dut.roce_stop_o);
    card_obeys = false;  // eight more frames
    const std::size_t gave = card_gave.size();
    while (out_.size() > 8)
        out_.pop_back();
    run(10'000);
    EXPECT_EQ(card_gave.size(), gave + 8);
    card_sends(numbered(1'000), false);
    run(1'000);
    EXPECT_EQ(card_gave.size(), gave + 9);  // a frame that is not RoCE is not held up
    mac_takes = 100;
    settle();
    EXPECT_FALSE(dut.roce_stop_o);
    EXPECT_EQ(missing_frames(), 0u);
}

}  // namespace
}  // namespace dingo::rtl
