// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac, from the MAC to the card: whole good frames or none; every missing frame is counted.
#include "mac_bench.h"

namespace dingo::rtl {
namespace {

class MacRx : public Mac {
  protected:
    Sent any_size() {
        const unsigned kind = random() % 8;
        return {numbered(kind == 0   ? 60 + random() % 9541
                         : kind == 1 ? 60 + random() % 12
                                     : 60 + random() % 1440)};
    }
    void expect_all_counted() {
        EXPECT_EQ(missing(peer_gave, card_got), no_room);
        EXPECT_EQ(status().rx_no_room, no_room);
        EXPECT_EQ(status().rx_bad, bad);
        EXPECT_TRUE(card_part.empty());
    }
};

class MacRxClocks : public MacRx, public testing::WithParamInterface<Clocks> {};

TEST_P(MacRxClocks, FramesOfAllSizesCrossWholeOrAreCounted) {
    clocks(GetParam());
    for (const unsigned percent : {100u, 60u, 20u}) {
        card_takes = percent;
        peer(600, [this] { return any_size(); });
        settle();
    }
    EXPECT_GT(card_got.size(), 300u);
    EXPECT_EQ(bad, 0u);
    expect_all_counted();
}

INSTANTIATE_TEST_SUITE_P(Unrelated, MacRxClocks,
                         testing::Values(Clocks{4, kMacPeriod, kMacPeriod},
                                         Clocks{kMacPeriod, 4, 4}, Clocks{1.7, 5.3, 4.9},
                                         Clocks{7.9, 2.1, 2.3}, Clocks{4, 4.001, 3.999}));

TEST_F(MacRx, NothingIsLostWhereTheCardKeepsUp) {
    peer(2'000, [this] { return Sent{numbered(64)}; });
    peer(2'000, [this] { return Sent{numbered(128 + random() % 1390)}; });
    peer(200, [this] { return Sent{numbered(9'600)}; });
    settle();
    EXPECT_EQ(no_room, 0u);
    EXPECT_EQ(card_got.size(), 4'200u);
    expect_all_counted();
}

TEST_F(MacRx, ShortFramesBackToBackAreDroppedWholeAndCounted) {
    peer(60'000, [this] { return Sent{numbered(65)}; });
    settle();
    EXPECT_GT(no_room, 3'000u);  // 281 M beats/s against 250
    EXPECT_LT(no_room, 9'000u);
    expect_all_counted();
}

TEST_F(MacRx, ShortFramesBackToBackAllCrossToAClockThatIsFastEnough) {
    clocks({3.5, kMacPeriod, kMacPeriod});
    peer(60'000, [this] { return Sent{numbered(65)}; });
    settle();
    EXPECT_EQ(card_got.size(), 60'000u);
    expect_all_counted();
}

TEST_F(MacRx, WhatTheMacFoundBadIsDroppedAndCounted) {
    unsigned spoilt = 0;
    peer(2'000, [&] {
        Sent sent = any_size();
        spoilt += sent.spoilt = random() % 3 == 0;
        return sent;
    });
    settle();
    EXPECT_EQ(bad, spoilt);
    EXPECT_EQ(no_room, 0u);
    expect_all_counted();
}

TEST_F(MacRx, AFrameThatIsTooLongIsDroppedAndCounted) {
    peer_sends(numbered(9'600));
    peer_sends(numbered(9'601));
    peer_sends(numbered(20'000));
    peer_sends(numbered(60));
    settle();
    ASSERT_EQ(card_got.size(), 2u);
    EXPECT_EQ(card_got[0].frame, peer_gave[0].frame);
    EXPECT_EQ(card_got[1].frame, peer_gave[3].frame);
    EXPECT_EQ(bad, 2u);
}

TEST_F(MacRx, ABadFrameThatFoundNoRoomIsCountedOnce) {
    card_takes = 0;
    unsigned spoilt = 0;
    peer(1'000, [&] {
        Sent sent{numbered(320)};
        spoilt += sent.spoilt = random() % 3 == 0;
        return sent;
    });
    settle();
    card_takes = 100;
    settle();
    EXPECT_EQ(bad, spoilt);
    EXPECT_GT(no_room, 100u);
    expect_all_counted();
}

TEST_F(MacRx, NoCountIsCutShortForTheCard) {
    card_takes = 0;
    clocks({100, kMacPeriod, kMacPeriod});  // up to sixteen events per cycle of the card
    peer(600, [this] { return Sent{numbered(60), false, true}; });
    settle();
    run(10'000);
    EXPECT_EQ(bad, 600u);
    EXPECT_EQ(status().rx_bad, 600u);
}

TEST_F(MacRx, AResetOfTheMacLeavesNoHalfFrame) {
    expect_whole = false;  // a frame that the card has begun to take ends with tuser
    unsigned cut = 0;
    for (unsigned i = 0; i < 300; ++i) {
        peer(3, [this] { return any_size(); });
        run(random() % 700);
        dut.mac_rx_up_i = 0;
        if (in_at != 0) {  // a MAC in reset drops the frame
            ++cut;
            line.pop_front();
            in_at = 0;
        }
        run(4 + random() % 40);
        dut.mac_rx_up_i = 1;
        if (i % 2 == 0)
            run(200);
    }
    settle();
    EXPECT_GT(cut, 30u);
    EXPECT_GT(card_cut, 10u);
    EXPECT_EQ(bad, cut);
    EXPECT_EQ(no_room, 0u);
    EXPECT_GT(card_got.size(), 200u);
    EXPECT_TRUE(card_part.empty());
    EXPECT_GE(missing(peer_gave, card_got),
              status().rx_lost);  // frames that were in the FIFO are not counted
    EXPECT_GT(status().rx_lost, 10u);
}

TEST_F(MacRx, AResetOfTheCardLeavesNoHalfFrame) {
    unsigned cut = 0;
    for (unsigned i = 0; i < 300; ++i) {
        peer(3, [this] { return any_size(); });
        card_takes = 30 + random() % 70;
        run(random() % 700);
        dut.rst_ni = 0;
        cut += !card_part.empty();
        card_part.clear();
        card_takes = 100;
        const std::size_t before = card_got.size();
        run(4 + random() % 84);  // one cycle and more
        EXPECT_EQ(card_got.size(), before);
        dut.rst_ni = 1;
    }
    settle();
    EXPECT_GT(cut, 30u);
    EXPECT_EQ(bad, 0u);
    EXPECT_GT(card_got.size(), 300u);
    EXPECT_GE(missing(peer_gave, card_got), status().rx_lost + no_room);
    EXPECT_GT(status().rx_lost, 10u);
}

}  // namespace
}  // namespace dingo::rtl
