// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "dingo/packet/address.h"

namespace dingo::packet {
namespace {

TEST(Address, MacTextRoundTrip) {
    const Mac mac = Mac::from_u64(0x02'44'49'00'00'0f);
    EXPECT_EQ(to_string(mac), "02:44:49:00:00:0f");
    EXPECT_EQ(parse_mac("02:44:49:00:00:0F"), mac);
    EXPECT_EQ(mac.to_u64(), 0x02'44'49'00'00'0fu);
    EXPECT_FALSE(mac.is_multicast());
    EXPECT_TRUE(Mac::from_u64(0x3333'0000'0001).is_multicast());
    for (const char* bad : {"", "02:44:49:00:00", "02:44:49:00:00:0g", "02-44-49-00-00-0f",
                            "02:44:49:00:00:0f ", "+2:44:49:00:00:0f", "2:44:49:00:00:0ff"})
        EXPECT_FALSE(parse_mac(bad)) << bad;
}

TEST(Address, Ipv4GidsAreMapped) {
    const Gid gid = Gid::from_ipv4(0x0a4d0001);
    EXPECT_TRUE(gid.is_ipv4_mapped());
    EXPECT_EQ(gid.ipv4(), 0x0a4d0001u);
    EXPECT_EQ(to_string(gid), "10.77.0.1");
    EXPECT_EQ(parse_gid("10.77.0.1"), gid);
    EXPECT_EQ(parse_gid("::ffff:10.77.0.1"), gid);
    EXPECT_FALSE(gid.is_multicast());
    EXPECT_TRUE(parse_gid("224.0.0.1")->is_multicast());
}

TEST(Address, Ipv6GidTextRoundTrip) {
    const auto gid = parse_gid("fd77::1");
    ASSERT_TRUE(gid);
    EXPECT_FALSE(gid->is_ipv4_mapped());
    EXPECT_EQ(to_string(*gid), "fd77::1");
    EXPECT_TRUE(parse_gid("ff02::1")->is_multicast());
    for (const char* bad : {"", "fd77:::1", "10.77.0", "10.77.0.256", "x"})
        EXPECT_FALSE(parse_gid(bad)) << bad;
    EXPECT_FALSE(parse_gid(std::string_view("fd77::1\0x", 9)));
}

}  // namespace
}  // namespace dingo::packet
