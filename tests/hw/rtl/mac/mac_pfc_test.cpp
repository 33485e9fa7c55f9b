// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac: priority flow control (IEEE 802.1Q clause 36), in both directions.
#include "mac_pfc.h"

namespace dingo::rtl {
namespace {

TEST_F(MacPfc, APauseStopsRoceForItsQuantaAndNothingElse) {
    card_obeys = true;
    for (const unsigned quanta : {500u, 1'000u, 3'000u}) {
        keep_sending(4'000);
        const double from = now;
        peer_sends(pause(static_cast<std::uint16_t>(quanta)));
        run(100);
        EXPECT_TRUE(status().tx_paused);
        keep_sending(quanta * kQuantum + 3'000);
        EXPECT_FALSE(status().tx_paused);
        // A frame that has begun ends first, and after the pause one begins at once.
        EXPECT_GT(roce_gap(from), quanta * kQuantum - 100) << quanta;
        EXPECT_LT(roce_gap(from), quanta * kQuantum + 400) << quanta;
        EXPECT_GT(others(from + 300, from + quanta * kQuantum), quanta * kQuantum / 30) << quanta;
    }
    EXPECT_EQ(status().rx_pauses, 3u);
    EXPECT_EQ(status().rx_control, 3u);
    EXPECT_TRUE(card_got.empty());  // no MAC control frame reaches the card
}

TEST_F(MacPfc, APauseIsProlongedAndEnded) {
    keep_sending(2'000);
    const double from = now;
    for (unsigned i = 0; i < 5; ++i) {
        peer_sends(pause(600));  // 3,072 ns
        run(2'500);
    }
    EXPECT_TRUE(status().tx_paused);
    peer_sends(pause(0xffff));  // 335 us
    run(2'000);
    EXPECT_TRUE(status().tx_paused);
    peer_sends(pause(0));
    run(100);
    EXPECT_FALSE(status().tx_paused);
    keep_sending(2'000);
    EXPECT_GT(roce_gap(from), 14'400);
    EXPECT_LT(roce_gap(from), 14'900);
    EXPECT_EQ(status().rx_pauses, 6u);  // a frame with time 0 is not counted
    EXPECT_EQ(status().rx_control, 7u);
}

TEST_F(MacPfc, AShorterTimeTakesTheLongerOnesPlace) {
    peer_sends(pause(0xffff));
    run(500);
    peer_sends(pause(200));
    run(900);
    EXPECT_TRUE(status().tx_paused);
    run(400);
    EXPECT_FALSE(status().tx_paused);
}

TEST_F(MacPfc, OtherPrioritiesAreNotRoces) {
    expect_no_pause(pfc(static_cast<std::uint8_t>(~(1u << kPriority)),
                        {9'000, 9'000, 9'000, 9'000, 9'000, 9'000, 9'000, 9'000}));
    EXPECT_EQ(status().rx_control, 1u);
}

TEST_F(MacPfc, ABadFramePausesNothingAndIsCounted) {
    expect_no_pause(pause(9'000), true);
    EXPECT_EQ(status().rx_control, 0u);
    EXPECT_EQ(status().rx_bad, 1u);
    EXPECT_EQ(bad, 1u);
}

TEST_F(MacPfc, AFrameBehindOneThatAResetCutIsSeen) {
    peer_sends(numbered(1'000));
    while (in_at < 5)
        run(1);
    dut.mac_rx_up_i = 0;
    line.clear();
    in_at = 0;
    run(50);
    dut.mac_rx_up_i = 1;
    cable_free = now;
    run(200);
    peer_sends(pause(9'000));
    run(100);
    EXPECT_TRUE(status().tx_paused);
}

TEST_F(MacPfc, APauseEndsWithTheLink) {
    peer_sends(pause(0xffff));
    run(300);
    EXPECT_TRUE(status().tx_paused);
    dut.mac_rx_link_i = 0;
    run(50);
    EXPECT_FALSE(status().tx_paused);
    dut.mac_rx_link_i = 1;
    run(300);
    EXPECT_FALSE(status().tx_paused);
}

TEST_F(MacPfc, HighWaterLastsUntilLowWater) {
    card_takes = 0;
    peer(110, [this] { return Sent{numbered(320)}; });  // 550 beats
    run(4'500);
    ASSERT_TRUE(status().rx_high);
    card_takes = 100;
    const auto left = [this] { return 550 - 5 * card_got.size(); };
    while (left() > 400)
        run(4);
    EXPECT_TRUE(status().rx_high);
    while (left() > 280)
        run(4);
    EXPECT_TRUE(status().rx_high);
    while (left() > 200)
        run(4);
    run(100);
    EXPECT_FALSE(status().rx_high);
}

TEST_F(MacPfc, OnlyTheGroupAddressPauses) {
    Frame frame = pause(9'000);
    frame[5] = std::byte{2};
    expect_no_pause(frame);
    EXPECT_EQ(status().rx_control, 1u);
}

TEST_F(MacPfc, OnlyTheOpcodePauses) {
    Frame frame = pause(9'000);
    frame[14] = std::byte{0};  // PAUSE of the whole link
    expect_no_pause(frame);
    EXPECT_EQ(status().rx_control, 1u);
    frame[14] = std::byte{1};
    frame.resize(30);  // too short to have a time
    expect_no_pause(frame);
    EXPECT_EQ(status().rx_control, 2u);
    EXPECT_TRUE(card_got.empty());
}

TEST_F(MacPfc, ALongControlFrameEndsHereAndCountsAtItsEnd) {
    Frame frame = pause(9'000);
    frame.resize(1'000);
    peer_sends(frame);
    peer_sends(numbered(200));
    run(30);  // half of the frame has arrived
    EXPECT_FALSE(status().tx_paused);
    run(200);
    EXPECT_TRUE(status().tx_paused);
    peer_sends(pause(0));
    settle();
    ASSERT_EQ(card_got.size(), 1u);
    EXPECT_EQ(card_got[0].frame.size(), 200u);
    EXPECT_EQ(bad + no_room, 0u);
}

TEST_F(MacPfc, ThePauseOfAMacThatWasResetIsOver) {
    peer_sends(pause(0xffff));
    run(300);
    EXPECT_TRUE(status().tx_paused);
    dut.mac_rx_up_i = 0;
    run(50);
    EXPECT_FALSE(status().tx_paused);
    dut.mac_rx_up_i = 1;
    run(300);
    EXPECT_FALSE(status().tx_paused);
}

TEST_F(MacPfc, AFullFifoAsksForAPauseAgainAndAgainAndEndsIt) {
    card_takes = 0;
    peer(200, [this] { return Sent{numbered(320)}; });  // of 5 beats each
    run(2'200);                                         // 79 frames have arrived
    EXPECT_FALSE(status().rx_high);
    run(1'200);  // 122 frames
    EXPECT_TRUE(status().rx_high);
    run(10'000);
    card_takes = 100;
    settle();
    EXPECT_FALSE(status().rx_high);
    EXPECT_EQ(no_room, 0u);
    const std::vector<Received> frames = pfc_frames();
    ASSERT_GE(frames.size(), 4u);
    const std::array<std::uint8_t, 20> head{0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0,
                                            0,    1,    0x88, 8, 1, 1, 0, 8, 0, 0};
    for (std::size_t i = 0; i < frames.size(); ++i) {
        Frame want(60);
        std::memcpy(want.data(), head.data(), head.size());
        const bool last = i + 1 == frames.size();
        put_be16(want, 24, last ? 0 : 0xffff);
        EXPECT_EQ(frames[i].frame, want) << i;
        if (i != 0 && !last) {
            EXPECT_NEAR(frames[i].at - frames[i - 1].at, 600 * kQuantum, 20) << i;
        }
    }
    EXPECT_EQ(status().tx_pauses, frames.size() - 1);
}

TEST_F(MacPfc, ItsFramesStandBetweenOthersAndGoWhileRoceIsPaused) {
    card_takes = 0;
    for (unsigned i = 0; i < 6; ++i)
        card_sends(numbered(9'600), i % 2 == 0);
    peer_sends(pause(2'000));
    peer(200, [this] { return Sent{numbered(320)}; });
    run(8'000);
    EXPECT_GE(pfc_frames().size(), 2u);
    card_takes = 100;
    settle();
    EXPECT_EQ(gaps, 0u);
    std::size_t whole = 0;
    for (const Received& r : mac_got)
        whole += r.frame.size() == 9'600;
    EXPECT_EQ(whole, 6u);
    EXPECT_EQ(whole + pfc_frames().size(), mac_got.size());
}

TEST_F(MacPfc, AMacThatWasResetHearsItAnew) {
    card_takes = 0;
    peer(140, [this] { return Sent{numbered(320)}; });
    run(4'500);
    ASSERT_EQ(pfc_frames().size(), 1u);
    dut.mac_tx_up_i = 0;
    run(50);
    dut.mac_tx_up_i = 1;
    run(250);
    EXPECT_EQ(pfc_frames().size(), 2u);
    dut.mac_tx_link_i = 0;
    run(50);
    dut.mac_tx_link_i = 1;
    run(100);
    EXPECT_EQ(pfc_frames().size(), 3u);
}

TEST_F(MacPfc, SwitchedOffItNeitherAsksNorObeys) {
    configure(0);
    card_takes = 0;
    peer(200, [this] { return Sent{numbered(320)}; });
    peer_sends(pause(9'000));
    run(8'000);
    EXPECT_TRUE(pfc_frames().empty());
    EXPECT_FALSE(status().tx_paused);
    card_takes = 100;
    settle();
    EXPECT_EQ(status().rx_control, 1u);
    EXPECT_EQ(card_got.size(), 200u);
}

/// A peer that stops 3.5 us after the request (100 m of cable, its response time, frames that have
/// begun on both sides) loses no frame, however long the card takes none.
TEST_F(MacPfc, APeerThatObeysLosesNothing) {
    const double distance = 3'500;
    double stopped_until = 0;
    std::size_t seen = 0;
    unsigned sent = 0;
    card_takes = 0;
    for (const double end = now + 300'000; now < end;) {
        card_takes = static_cast<std::uint64_t>(now / 20'000) % 2 == 0 ? 0 : 100;
        run(5);
        for (; seen < mac_got.size(); ++seen)
            if (is_pfc(mac_got[seen]))
                heard_.push_back(
                    {mac_got[seen].at + distance, be16_at(mac_got[seen].frame, 24) * kQuantum});
        while (!heard_.empty() && heard_.front().at <= now) {
            stopped_until = heard_.front().at + heard_.front().pause;
            heard_.pop_front();
        }
        if (now >= stopped_until && cable_free <= now + 5) {
            peer(1, [&] { return Sent{numbered(65)}; });
            ++sent;
        }
    }
    card_takes = 100;
    settle();
    EXPECT_GT(sent, 10'000u);
    EXPECT_EQ(card_got.size(), sent);
    EXPECT_EQ(no_room + bad, 0u);
    EXPECT_GT(pfc_frames().size(), 10u);
}

}  // namespace
}  // namespace dingo::rtl
