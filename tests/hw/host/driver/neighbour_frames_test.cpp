// SPDX-License-Identifier: BSD-2-Clause
// ARP and neighbour discovery frames, byte by byte, and invalid ones.
#include "host/driver/neighbour_frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "dingo/packet/build.h"

namespace dingo::uverbs::test {
namespace {

constexpr packet::Mac kMac{{2, 3, 4, 5, 6, 7}};
constexpr packet::Mac kPeer{{2, 0x13, 0x14, 0x15, 0x16, 0x17}};
constexpr std::size_t kIp = packet::kEthernetBytes;
constexpr std::size_t kIcmp = kIp + packet::kIpv6Bytes;

std::vector<std::uint8_t> bytes_of_frame(std::span<const std::byte> frame) {
    std::vector<std::uint8_t> out(frame.size());
    std::memcpy(out.data(), frame.data(), frame.size());
    return out;
}

// RFC 826.
TEST(NeighbourFrames, ArpIsAsTheStandardHasIt) {
    const Arp request{Arp::kRequest, kMac, 0x0a4d0001, {}, 0x0a4d0009};
    const std::vector<std::uint8_t> asked{
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  3,  4, 5, 6, 7, 8, 6,  // Ethernet
        0,    1,    8,    0,    6,    4,    0,  1,                     // Ethernet, IPv4, request
        2,    3,    4,    5,    6,    7,    10, 77, 0, 1, 0, 0, 0, 0, 0, 0, 10, 77, 0, 9};
    EXPECT_EQ(bytes_of_frame(request.frame(kBroadcast)), asked);
    const auto reply = Arp{Arp::kReply, kMac, 1, kPeer, 2}.frame(kPeer);
    EXPECT_EQ(reply[kIp + 7], std::byte{2});
    const auto seen = Arp::load(reply);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->operation, 2);
    EXPECT_EQ(seen->sender_mac, kMac);
    EXPECT_EQ(seen->target_mac, kPeer);
    EXPECT_EQ(seen->sender, 1U);
    EXPECT_EQ(seen->target, 2U);
}

TEST(NeighbourFrames, ArpOfOtherNetworksIsNone) {
    const auto good = Arp{Arp::kRequest, kMac, 1, {}, 2}.frame(kBroadcast);
    for (const std::size_t at : {kIp - 1, kIp + 1, kIp + 2, kIp + 3, kIp + 4, kIp + 5}) {
        auto other = good;
        other[at] ^= std::byte{1};
        EXPECT_FALSE(Arp::load(other).has_value()) << "byte " << at;
    }
    EXPECT_TRUE(Arp::load(good).has_value());
}

/// Sets the correct checksum of the frame's ICMPv6 message.
void correct(std::span<std::byte> frame) {
    const auto sum_of = [](std::span<const std::byte> bytes) {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
            sum += packet::load_be16(&bytes[i]);
        }
        return sum;
    };
    const auto message = frame.subspan(kIcmp);
    packet::store_be16(&frame[kIcmp + 2], 0);
    std::uint32_t sum = sum_of(frame.subspan(kIp + 8, 32)) + sum_of(message) +
                        static_cast<std::uint32_t>(message.size()) + 58;
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet::store_be16(&frame[kIcmp + 2], static_cast<std::uint16_t>(~sum));
}

Ndp solicitation() {
    Ndp ask;
    ask.type = Ndp::kSolicitation;
    ask.src = packet::parse_gid("fd77::9").value();
    ask.target = packet::parse_gid("fd77::1").value();
    ask.dst = solicited_node(ask.target);
    ask.link_address = kPeer;
    return ask;
}

// RFC 4861 4.3, 4.4 and 4.6.1.
TEST(NeighbourFrames, DiscoveryIsAsTheStandardHasIt) {
    auto asked = solicitation().frame(kMac, multicast_mac(solicitation().dst));
    const auto bytes = bytes_of_frame(asked);
    ASSERT_EQ(bytes.size(), kIcmp + 32);
    EXPECT_EQ(bytes[kIp + 5], 32) << "payload length";
    EXPECT_EQ(bytes[kIp + 6], 58) << "next header";
    EXPECT_EQ(bytes[kIp + 7], 255) << "hop limit";
    EXPECT_EQ(bytes[kIcmp], 135);
    EXPECT_EQ(bytes[kIcmp + 1], 0);
    EXPECT_EQ(bytes[kIcmp + 4], 0) << "no flags";
    EXPECT_EQ(bytes[kIcmp + 24], 1) << "source link-layer address";
    EXPECT_EQ(bytes[kIcmp + 25], 1) << "of eight bytes";
    EXPECT_EQ(std::memcmp(&bytes[kIcmp + 26], kPeer.bytes.data(), 6), 0);
    const auto sum = packet::load_be16(&asked[kIcmp + 2]);
    correct(asked);
    EXPECT_EQ(packet::load_be16(&asked[kIcmp + 2]), sum);

    Ndp answer = solicitation();
    answer.type = Ndp::kAdvertisement;
    for (const bool solicited : {false, true}) {
        answer.solicited = solicited;
        const auto told = bytes_of_frame(answer.frame(kMac, kPeer));
        EXPECT_EQ(told[kIcmp], 136);
        EXPECT_EQ(told[kIcmp + 4], solicited ? 0x60 : 0x20) << "override, solicited";
        EXPECT_EQ(told[kIcmp + 24], 2) << "target link-layer address";
    }
}

TEST(NeighbourFrames, WhatIsNoDiscoveryIsNotTakenForIt) {
    const auto good = solicitation().frame(kMac, kPeer);
    ASSERT_TRUE(Ndp::load(good).has_value());
    const auto with = [&](std::size_t at, unsigned value) {
        auto frame = good;
        frame[at] = static_cast<std::byte>(value);
        correct(frame);
        return Ndp::load(frame);
    };
    EXPECT_TRUE(with(kIcmp, 135).has_value());
    EXPECT_TRUE(with(kIcmp, 136).has_value());
    for (const unsigned type : {0U, 128U, 133U, 134U, 137U, 255U}) {
        EXPECT_FALSE(with(kIcmp, type).has_value()) << "type " << type;
    }
    EXPECT_FALSE(with(kIcmp + 1, 1).has_value()) << "code";
    EXPECT_FALSE(with(kIp + 7, 254).has_value()) << "it came through a router";
    EXPECT_FALSE(with(kIp + 7, 0).has_value());
    EXPECT_FALSE(with(kIp + 6, 17).has_value()) << "UDP";
    EXPECT_FALSE(with(kIcmp + 25, 0).has_value()) << "an option without end";
    EXPECT_FALSE(with(kIcmp + 25, 2).has_value()) << "an option beyond the message";
    const auto other = with(kIcmp + 24, 2);
    ASSERT_TRUE(other.has_value());
    EXPECT_FALSE(other->link_address.has_value()) << "not an option of a solicitation";
}

}  // namespace
}  // namespace dingo::uverbs::test
