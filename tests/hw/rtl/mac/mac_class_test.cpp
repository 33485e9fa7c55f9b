// SPDX-License-Identifier: BSD-2-Clause
//
// dingo_mac: classes of frames under priority flow control, and turns of the two FIFOs.
#include "mac_pfc.h"

namespace dingo::rtl {
namespace {

TEST_F(MacPfc, AFramesClassIsItsPcpAndEachHasATimeOfItsOwn) {
    configure(0b1010'1000);  // 3, 5, 7
    peer_sends(pfc(0b0011'1001, {9'000, 0, 0, 9'000, 9'000, 1'200}));
    run(500);
    for (const unsigned pcp : {0u, 4u, 7u}) {  // classes without PFC or without a pause
        const unsigned before = roce();
        send_roce(2, static_cast<int>(pcp));
        run(1'000);
        EXPECT_EQ(roce(), before + 2) << pcp;
    }
    const unsigned before = roce();
    send_roce(1, 5);
    run(200);
    EXPECT_EQ(roce(), before);  // class 5 is paused for 6,144 ns
    run(3'000);
    EXPECT_EQ(roce(), before + 1);
    send_roce(1, 3);
    send_roce(1, 0);  // waits behind it in the FIFO
    run(5'000);
    EXPECT_EQ(roce(), before + 1);
    peer_sends(pfc(0b0000'1000, {}));
    run(1'000);
    EXPECT_EQ(roce(), before + 3);
    EXPECT_EQ(status().rx_pauses, 1u);
}

TEST_F(MacPfc, OtherFramesOfAPausedClassWaitThenAreDroppedSoThatTheRestGoesOn) {
    peer_sends(pause(9'000));  // 46 us
    run(300);
    card_sends(tagged(numbered(300), kPriority), false);
    card_sends(tagged(numbered(300), 0), false);
    card_sends(numbered(300), false);
    run(2'000);
    EXPECT_TRUE(mac_got.empty());
    EXPECT_EQ(status().tx_lost, 0u);
    for (unsigned i = 0; i < 40; ++i)
        card_sends(numbered(300), false);
    settle();
    ASSERT_EQ(mac_got.size(), 42u);
    EXPECT_EQ(status().tx_lost, 1u);
    EXPECT_EQ(mac_got.front().frame, card_gave[1].frame);
}

TEST_F(MacPfc, OtherFramesOfAPausedClassLeaveAfterThePause) {
    peer_sends(pause(400));
    run(300);
    card_sends(tagged(numbered(300), kPriority), false);
    settle();
    EXPECT_EQ(mac_got.size(), 1u);
    EXPECT_GT(mac_got.front().at, 400 * kQuantum);
}

TEST_F(MacPfc, RoceAndOthersTakeTurns) {
    keep_sending(3'000);
    const double from = now;
    keep_sending(8'000);
    unsigned roce = 0, most = 0, in_a_row = 0, other = 0;
    for (const Received& r : mac_got) {
        if (r.at < from)
            continue;
        in_a_row = is_roce(r) ? in_a_row + 1 : 0;
        most = std::max(most, in_a_row);
        (is_roce(r) ? roce : other) += 1;
    }
    EXPECT_GT(other, 30u);
    EXPECT_GT(roce, 30u);
    EXPECT_LE(most, 2u);
}

TEST_F(MacPfc, AllClassesThatHaveItAreAskedToPause) {
    configure(0b1000'1001);
    card_takes = 0;
    peer(140, [this] { return Sent{numbered(320)}; });
    run(4'500);
    const std::vector<Received> frames = pfc_frames();
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(be16_at(frames[0].frame, 16), 0b1000'1001u);
    for (unsigned i = 0; i < 8; ++i)
        EXPECT_EQ(be16_at(frames[0].frame, 18 + 2 * i), i == 0 || i == 3 || i == 7 ? 0xffffu : 0u);
}

}  // namespace
}  // namespace dingo::rtl
