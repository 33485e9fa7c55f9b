// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "dingo/packet/psn.h"

namespace dingo::packet {
namespace {

TEST(Psn, AddWrapsAt24Bits) {
    EXPECT_EQ(psn_add(0xffffff, 1), 0u);
    EXPECT_EQ(psn_add(0xfffff0, 0x20), 0x10u);
    EXPECT_EQ(psn_add(0, -1), 0xffffffu);
    EXPECT_EQ(psn_add(5, -10), 0xfffffbu);
    EXPECT_EQ(psn_add(7, 1LL << 24), 7u);
}

TEST(Psn, DiffIsSignedInAHalfWindow) {
    EXPECT_EQ(psn_diff(5, 3), 2);
    EXPECT_EQ(psn_diff(3, 5), -2);
    EXPECT_EQ(psn_diff(0, 0xffffff), 1);
    EXPECT_EQ(psn_diff(0xffffff, 0), -1);
    EXPECT_EQ(psn_diff(0x7fffff, 0), 0x7fffff);
    EXPECT_EQ(psn_diff(0x800000, 0), -0x800000);
}

TEST(Psn, BeforeIsStrictAndWraps) {
    EXPECT_FALSE(psn_before(9, 9));
    EXPECT_TRUE(psn_before(0xffffff, 0));
    EXPECT_FALSE(psn_before(0, 0xffffff));
}

TEST(Psn, AddAndDiffAreInverseAroundTheWrap) {
    for (std::uint32_t base : {0u, 1u, 0x7fffffu, 0x800000u, 0xfffff0u, 0xffffffu})
        for (int delta : {-0x800000, -70000, -1, 0, 1, 70000, 0x7fffff})
            EXPECT_EQ(psn_diff(psn_add(base, delta), base), delta) << base << " " << delta;
}

}  // namespace
}  // namespace dingo::packet
