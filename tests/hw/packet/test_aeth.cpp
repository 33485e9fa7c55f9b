// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "dingo/packet/aeth.h"

namespace dingo::packet {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(Aeth, RnrTimerHasTheKnownValues) {
    EXPECT_EQ(rnr_timer_ns(0), 655'360'000u);
    EXPECT_EQ(rnr_timer_ns(1), 10'000u);
    EXPECT_EQ(rnr_timer_ns(12), 640'000u);
    EXPECT_EQ(rnr_timer_ns(25), 61'440'000u) << "rxe once had 61410 us here";
    EXPECT_EQ(rnr_timer_ns(31), 491'520'000u);
}

TEST(Aeth, RnrTimerGrowsInStepsOfOneAndAHalfAndFourThirds) {
    // From code 5 on, the values are alternately 1.5 and 4/3 times the one before.
    for (std::uint8_t code = 6; code < 32; ++code) {
        const std::uint64_t before = rnr_timer_ns(code - 1);
        EXPECT_EQ(rnr_timer_ns(code), code % 2 == 0 ? before * 4 / 3 : before * 3 / 2)
            << unsigned{code};
    }
    EXPECT_EQ(rnr_timer_ns(0), rnr_timer_ns(31) * 4 / 3);
}

TEST(Aeth, RnrTimerIgnoresBitsAboveTheCode) {
    EXPECT_EQ(rnr_timer_ns(0x20 | 12), rnr_timer_ns(12));
}

TEST(Aeth, AckTimeoutDoublesFrom4096Ns) {
    EXPECT_EQ(ack_timeout_ns(0), 0u) << "0 turns the timer off";
    EXPECT_EQ(ack_timeout_ns(1), 8192u);
    EXPECT_EQ(ack_timeout_ns(14), 67'108'864u);
    EXPECT_EQ(ack_timeout_ns(31), 8'796'093'022'208u);
}

TEST(Aeth, SyndromeKindsAreExclusive) {
    for (unsigned s = 0; s < 256; ++s) {
        const auto byte = static_cast<std::uint8_t>(s);
        EXPECT_EQ(syndrome::is_ack(byte), s < 0x20) << s;
        EXPECT_EQ(syndrome::is_rnr(byte), s >= 0x20 && s < 0x40) << s;
    }
    EXPECT_EQ(syndrome::value(syndrome::rnr(12)), 12);
    EXPECT_EQ(syndrome::kAckNoCredits, 0x1f);
    static_assert(rnr_timer_ns(0) > 655 * kMs);
}

}  // namespace
}  // namespace dingo::packet
