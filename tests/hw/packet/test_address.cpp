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

TEST(Address, OneBitMakesAMappedGidAnotherOne) {
    const Gid mapped = Gid::from_ipv4(0xe0000001);
    EXPECT_TRUE(mapped.is_multicast());
    for (std::size_t bit = 0; bit < 8 * mapped.bytes.size(); ++bit) {
        Gid gid = mapped;
        gid.bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
        const bool in_address = bit >= 96, in_its_class = bit >= 100 && bit < 104;  // 224.0.0.0/4
        EXPECT_EQ(gid.is_ipv4_mapped(), in_address) << bit;
        EXPECT_EQ(gid.is_multicast(), in_address && !in_its_class) << bit;
    }
    for (const auto& [text, multicast] : {std::pair{"ff00::", true},
                                          {"ffff::1", true},
                                          {"fe00::", false},
                                          {"7f00::", false},
                                          {"0:ff00::", false}})
        EXPECT_EQ(parse_gid(text)->is_multicast(), multicast) << text;
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
