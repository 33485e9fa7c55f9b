// SPDX-License-Identifier: BSD-2-Clause
//
// Which frames the port accepts: addresses, sizes, GIDs.
#include "port.h"

#include <gtest/gtest.h>

namespace dingo::model {
namespace {

constexpr std::uint64_t kInTable = 0x020000000001;
constexpr std::uint64_t kOfGid = 0x020000000002;
constexpr std::uint64_t kGroup = 0x01005e010203;

std::vector<std::byte> frame_to(std::uint64_t mac, std::size_t bytes = 64) {
    std::vector<std::byte> frame(bytes);
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 6); ++i) {
        frame[i] = static_cast<std::byte>(mac >> 8 * (5 - i));
    }
    return frame;
}

class PortTest : public testing::Test {
  protected:
    PortTest() {
        port.macs[3] = {true, kInTable};
        port.macs[4] = {true, kGroup};
        port.macs[5] = {false, 0x02000000000f};
        port.gids[7] = {.valid = true, .mac = {2, 0, 0, 0, 0, 2}};
        port.gids[8] = {.mac = {2, 0, 0, 0, 0, 15}};
        port.addresses_changed();
    }
    Port port;
};

TEST_F(PortTest, GivesValidGidsOfItsTableOnly) {
    EXPECT_EQ(port.gid(7), &port.gids[7]);
    EXPECT_EQ(port.gid(8), nullptr);
    port.gids.back() = port.gids[7];
    EXPECT_EQ(port.gid(Port::kGidEntries - 1), &port.gids.back());
    port.gids.pop_back();  // a valid entry is beyond the end now
    EXPECT_EQ(port.gid(Port::kGidEntries - 1), nullptr);
    EXPECT_EQ(port.gid(~0u), nullptr);
}

TEST_F(PortTest, KnowsWhoseFramesItTakes) {
    struct Case {
        std::uint64_t mac;
        bool in_table, roce, loops_back;
    };
    for (const Case& c : {Case{kInTable, true, true, true},
                          {kOfGid, false, true, true},
                          {kGroup, true, true, false},
                          {0x02000000000f, false, false, false},
                          {kBroadcastMac, false, false, false}}) {
        EXPECT_EQ(port.in_mac_table(c.mac), c.in_table) << std::hex << c.mac;
        EXPECT_EQ(port.takes_roce(c.mac), c.roce) << std::hex << c.mac;
        EXPECT_EQ(port.loops_back(frame_to(c.mac)), c.loops_back) << std::hex << c.mac;
    }
    EXPECT_TRUE(port.loops_back(frame_to(kInTable, 6)));
    EXPECT_FALSE(port.loops_back(frame_to(kInTable, 5)));
    EXPECT_FALSE(port.loops_back({}));
}

TEST_F(PortTest, HasNoAddressUntilItIsGivenOne) {
    Port fresh;
    fresh.addresses_changed();
    EXPECT_FALSE(fresh.in_mac_table(0));
    EXPECT_FALSE(fresh.takes_roce(0));
    EXPECT_FALSE(fresh.loops_back(frame_to(0)));
    for (const std::uint32_t index : {0u, Port::kGidEntries - 1}) {
        EXPECT_EQ(fresh.gid(index), nullptr);
    }
}

TEST_F(PortTest, ForgetsAddressesThatAreGone) {
    port.macs[3].valid = port.gids[7].valid = false;
    port.addresses_changed();
    EXPECT_FALSE(port.in_mac_table(kInTable));
    EXPECT_FALSE(port.takes_roce(kInTable));
    EXPECT_FALSE(port.takes_roce(kOfGid));
}

TEST_F(PortTest, TakesDatagramsToGroupsThatItHas) {
    packet::Packet packet;
    packet.bth.dest_qp = DINGO_QPN_MCAST;
    packet.dgid = packet::Gid::from_ipv4(0xef010203);
    const auto takes = [&](std::uint64_t mac = kGroup) { return port.takes_group(mac, packet); };
    EXPECT_FALSE(takes()) << "without the capability";
    port.has_groups = true;
    EXPECT_TRUE(takes());
    EXPECT_FALSE(takes(kInTable)) << "not to a group's address";
    packet.bth.dest_qp = 5;
    EXPECT_FALSE(takes());
    packet.bth.dest_qp = DINGO_QPN_MCAST;
    packet.dgid = packet::Gid::from_ipv4(0x0a4d0001);
    EXPECT_FALSE(takes());
    packet.dgid = packet::Gid::from_ipv4(0xef010203);
    // A promiscuous port receives the frames that no QP takes.
    for (bool* all : {&port.promiscuous, &port.all_multicast}) {
        *all = true;
        EXPECT_FALSE(takes());
        ASSERT_EQ(port.groups.attach(packet.dgid.bytes, 9), MulticastTable::Attach::kOk);
        EXPECT_TRUE(takes());
        port.groups.clear();
        *all = false;
    }
}

TEST_F(PortTest, ATagMakesTheLongestFrameLonger) {
    port.mtu = 1500;
    EXPECT_EQ(port.max_frame(false), 1514u);
    EXPECT_EQ(port.max_frame(true), 1518u);
}

TEST_F(PortTest, IsUpWithALinkWhenItIsEnabled) {
    for (const bool link : {false, true}) {
        for (const bool enabled : {false, true}) {
            port.link = link;
            port.enabled = enabled;
            EXPECT_EQ(port.up(), link && enabled);
        }
    }
}

}  // namespace
}  // namespace dingo::model
