// SPDX-License-Identifier: BSD-2-Clause
#include "app/driver_faults.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace dingo::test {
namespace {

TEST(AdminFaults, AreReadFromARule) {
    AdminFaults faults;
    faults.met = 7;
    set_admin_faults(faults, "0x43=refuse,65=never,0x50=250");
    EXPECT_EQ(faults.refused.count(), 1U);
    EXPECT_TRUE(faults.refused[0x43]);
    EXPECT_EQ(faults.held[65], kNever);
    EXPECT_EQ(faults.held[0x50], 250'000'000U);
    set_admin_faults(faults, "");
    EXPECT_TRUE(faults.refused.none());
    EXPECT_EQ(faults.held[65] + faults.held[0x50], 0U);
    EXPECT_EQ(faults.met, 7U);
}

TEST(AdminFaults, BadRulesChangeNothing) {
    AdminFaults faults;
    set_admin_faults(faults, "1=never");
    for (const char* bad : {"1", "1=", "=refuse", "256=refuse", "x=refuse", "2=soon", "2=-1",
                            "2=3600001", "2=refuse,,", ","}) {
        EXPECT_THROW(set_admin_faults(faults, bad), std::invalid_argument) << bad;
    }
    EXPECT_EQ(faults.held[1], kNever);
    EXPECT_EQ(faults.held[2], 0U);
    EXPECT_TRUE(faults.refused.none());
}

}  // namespace
}  // namespace dingo::test
