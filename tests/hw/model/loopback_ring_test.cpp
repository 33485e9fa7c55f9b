// SPDX-License-Identifier: BSD-2-Clause
//
// The ring of looped-back frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "loopback.h"
#include "port.h"
#include "test_wire.h"

namespace dingo::model {
namespace {

class LoopbackRing : public testing::Test {
  protected:
    LoopbackRing() {
        port.macs[0] = MacEntry{true, 0x024449000001};
        port.addresses_changed();
        loopback.set_port(&port);
    }
    bool put(std::uint8_t mark, std::uint8_t last_octet = 1) {
        const auto room = loopback.begin_frame(64);
        if (room.empty()) {
            return false;
        }
        std::ranges::fill(room, std::byte{mark});
        const std::uint8_t mac[] = {0x02, 0x44, 0x49, 0, 0, last_octet};
        std::memcpy(room.data(), mac, sizeof mac);
        loopback.end_frame(64);
        return true;
    }

    Port port;
    test::TestWire wire;
    Loopback loopback{wire};
};

TEST_F(LoopbackRing, TakenFrameStaysWholeWhileItsAnswersFillTheRing) {
    std::uint8_t mark = 0;
    while (put(mark)) {
        ++mark;
    }
    const auto first = loopback.take().frame;
    while (put(0xEE)) {
    }
    EXPECT_EQ(first[10], std::byte{0});
    EXPECT_EQ(first[5], std::byte{1});
    EXPECT_EQ(loopback.take().frame[10], std::byte{1});
}

TEST_F(LoopbackRing, AFullRingHasNoRoomAndLosesNoFrame) {
    std::uint8_t marks = 0;
    while (marks < 2 * Loopback::kFrames) {
        const auto room = loopback.begin_loopback(64);
        if (room.empty()) {
            break;
        }
        std::ranges::fill(room, std::byte{marks++});
        loopback.end_loopback(64, {});
    }
    EXPECT_LT(marks, Loopback::kFrames);
    for (std::uint8_t mark = 0; mark < marks; ++mark) {
        ASSERT_FALSE(loopback.empty());
        EXPECT_EQ(loopback.take().frame[10], std::byte{mark});
    }
    EXPECT_TRUE(loopback.empty());
}

TEST_F(LoopbackRing, ManyCopiesOfOneFrameFillIt) {
    static_cast<void>(loopback.begin_loopback(64));
    loopback.end_loopback(64, {.copies = Loopback::kFrames});
    EXPECT_TRUE(loopback.begin_loopback(64).empty());
    loopback.take();
    EXPECT_TRUE(put(1));
}

TEST_F(LoopbackRing, FramesForOthersAndGroupsGoToTheWire) {
    EXPECT_TRUE(put(1, 2));
    EXPECT_TRUE(loopback.empty());
    ASSERT_EQ(wire.sent.size(), 1u);
    // one of the card's groups, which is not only for the card
    port.macs[1] = MacEntry{true, 0x333300000001};
    port.addresses_changed();
    const auto room = loopback.begin_frame(64);
    const std::uint8_t mac[] = {0x33, 0x33, 0, 0, 0, 1};
    std::memcpy(room.data(), mac, sizeof mac);
    loopback.end_frame(64);
    EXPECT_TRUE(loopback.empty());
    EXPECT_EQ(wire.sent.size(), 2u);
    EXPECT_TRUE(put(1));
    EXPECT_FALSE(loopback.begin_frame(64).empty());
    loopback.end_frame(0);
    EXPECT_FALSE(loopback.empty());
    EXPECT_EQ(wire.sent.size(), 2u);
}

TEST_F(LoopbackRing, GatheringLeavesWhatIsInItsFrameAndWhatIsHeld) {
    const std::vector<std::byte> memory(16, std::byte{0x5A});
    const auto put_with = [&](Loopback::Payload payload) {
        std::ranges::fill(loopback.begin_loopback(64), std::byte{0x11});
        loopback.end_loopback(64, std::move(payload));
    };
    put_with({nullptr, 40, memory.size()});
    put_with({memory.data(), 40, memory.size(), std::make_shared<HeldMemory>()});
    loopback.gather_frames();
    const auto inside = loopback.take();
    EXPECT_TRUE(inside.payload.empty());
    EXPECT_TRUE(
        std::ranges::all_of(inside.frame, [](std::byte b) { return b == std::byte{0x11}; }));
    EXPECT_EQ(loopback.take().payload.data(), memory.data());
}

TEST_F(LoopbackRing, GatheredPayloadIsInTheFrameAndItsMemoryMayGo) {
    std::vector<std::byte> memory(16, std::byte{0x5A});
    for (int i = 0; i < 2; ++i) {
        const auto room = loopback.begin_loopback(64);
        ASSERT_EQ(room.size(), 64u);
        std::ranges::fill(room, std::byte{0x11});
        loopback.end_loopback(64, {memory.data(), 40, memory.size()});
    }
    const auto elsewhere = loopback.take();
    EXPECT_EQ(elsewhere.payload.data(), memory.data());
    EXPECT_EQ(elsewhere.payload.size(), memory.size());
    loopback.gather_frames();
    std::ranges::fill(memory, std::byte{0});
    const auto gathered = loopback.take();
    EXPECT_TRUE(gathered.payload.empty());
    EXPECT_EQ(gathered.frame[39], std::byte{0x11});
    EXPECT_EQ(gathered.frame[40], std::byte{0x5A});
    EXPECT_EQ(gathered.frame[55], std::byte{0x5A});
    EXPECT_EQ(gathered.frame[56], std::byte{0x11});
    EXPECT_TRUE(loopback.empty());
}

}  // namespace
}  // namespace dingo::model
