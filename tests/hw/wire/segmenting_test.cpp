// SPDX-License-Identifier: BSD-2-Clause
#include "wire/segmenting.h"

#include <gtest/gtest.h>

namespace dingo {
namespace {

// As /proc/net/packet prints them; the fourth word is the protocol, the fifth the interface.
constexpr const char* kTitles = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n";

std::string socket_of(const std::string& protocol, const std::string& interface) {
    return "0000000000000000 3      3    " + protocol + "   " + interface +
           "     1 0      0      4711  \n";
}

TEST(Segmenting, WithinThisHost) {
    EXPECT_TRUE(segmenting_helps("127.0.0.1"));
    EXPECT_TRUE(segmenting_helps("127.9.9.9"));
}

TEST(Segmenting, NotWhereThereIsNoWay) {
    EXPECT_FALSE(segmenting_helps("no address"));
    EXPECT_EQ(interface_to("no address"), "");
    EXPECT_EQ(driver_of("no-interface"), "");
}

TEST(Segmenting, ASocketThatSeesAllPackets) {
    const std::string titles = kTitles;
    EXPECT_FALSE(is_captured("", 3));
    EXPECT_FALSE(is_captured(titles, 3));
    EXPECT_TRUE(is_captured(titles + socket_of("0003", "3"), 3));
    EXPECT_TRUE(is_captured(titles + socket_of("0800", "3"), 3));
    EXPECT_TRUE(is_captured(titles + socket_of("0003", "0"), 3)) << "on all interfaces";
    EXPECT_FALSE(is_captured(titles + socket_of("0003", "4"), 3)) << "on another one";
    EXPECT_FALSE(is_captured(titles + socket_of("88cc", "3"), 3)) << "LLDP";
    EXPECT_TRUE(is_captured(titles + socket_of("88cc", "3") + socket_of("0003", "3"), 3));
}

}  // namespace
}  // namespace dingo
