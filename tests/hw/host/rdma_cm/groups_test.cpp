// SPDX-License-Identifier: BSD-2-Clause
// JOIN_MCAST, JOIN_IP_MCAST and LEAVE_MCAST: the kernel's errnos, the event, and the lifetime of a
// join.
#include <gtest/gtest.h>

#include <cerrno>

#include "../uverbs/running_card.h"
#include "cm_client.h"

namespace dingo::rdma_cm::test {
namespace {

constexpr std::uint32_t kUdpQkey = 0x01234567;
const sockaddr_in kGroup = ipv4("239.1.2.3", 0);
const sockaddr_in6 kGroup6 = ipv6("ff0e::17", 0);

class UcmaGroups : public ::testing::Test {
  protected:
    uverbs::test::RunningCard card{1024, 16U << 20, true};
    CmClient client{card.directory};

    int count(const char* name) const { return card.stats()["rdma_cm"][name].get<int>(); }
    /// Creates an identifier bound to 10.77.0.1.
    std::uint32_t bound(std::uint16_t space = RDMA_PS_UDP) {
        EXPECT_EQ(client.create(7, space), 0);
        EXPECT_EQ(client.bind(client.id, ipv4("10.77.0.1", 0)), 0);
        return client.id;
    }
};

TEST_F(UcmaGroups, EventTellsHowTheGroupIsReached) {
    const std::uint32_t id = bound();
    ASSERT_EQ(client.join_group(id, kGroup, 0x5000), 0);
    ASSERT_EQ(client.wait_event(), kJoined);
    EXPECT_EQ(client.event.uid, 0x5000U) << "the join's, not the identifier's";
    EXPECT_EQ(client.event.id, client.group);
    EXPECT_EQ(client.event.status, 0U);
    const rdma_ucm_ud_param& ud = client.event.param.ud;
    EXPECT_EQ(ud.qp_num, 0xffffffU);
    EXPECT_EQ(ud.qkey, kUdpQkey);
    EXPECT_EQ(ud.private_data_len, 0);
    EXPECT_EQ(ud.ah_attr.is_global, 1);
    EXPECT_EQ(ud.ah_attr.port_num, 1);
    EXPECT_EQ(ud.ah_attr.grh.hop_limit, 64);
    EXPECT_EQ(ud.ah_attr.grh.sgid_index, 1);
    const std::array<std::uint8_t, 16> gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
    EXPECT_EQ(std::to_array(ud.ah_attr.grh.dgid), gid);
    EXPECT_EQ(client.leave_group(client.group), 0);
    EXPECT_EQ(client.reported, 1U);
    EXPECT_EQ(client.destroy(id), 0);
    EXPECT_EQ(client.reported, 1U) << "it is the identifier's event too";
}

TEST_F(UcmaGroups, OlderLibrariesJoinByTheirCommand) {
    rdma_ucm_create_id_resp answer{};
    rdma_ucm_join_ip_mcast cmd{};
    cmd.response = reinterpret_cast<std::uintptr_t>(&answer);
    cmd.uid = 0x5000;
    std::memcpy(&cmd.addr, &kGroup, sizeof kGroup);
    cmd.id = bound();
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_JOIN_IP_MCAST, cmd, 0), -ENOSPC);
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_JOIN_IP_MCAST, cmd, sizeof answer), 0);
    ASSERT_EQ(client.wait_event(), kJoined);
    EXPECT_EQ(client.event.uid, 0x5000U);
    EXPECT_EQ(client.event.id, answer.id);
}

TEST_F(UcmaGroups, GroupOfIpv6IsJoinedFromSuchAnAddress) {
    ASSERT_EQ(client.create(7, RDMA_PS_UDP), 0);
    ASSERT_EQ(client.resolve(client.id, kGroup6), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    ASSERT_EQ(client.join_group(client.id, kGroup6, 1), 0);
    ASSERT_EQ(client.wait_event(), kJoined);
    EXPECT_EQ(std::memcmp(client.event.param.ud.ah_attr.grh.dgid, &kGroup6.sin6_addr, 16), 0);
    EXPECT_EQ(client.event.param.ud.ah_attr.grh.sgid_index, 0) << "the link-local one";
    EXPECT_EQ(client.join_group(client.id, kGroup, 2), -EINVAL) << "of IPv4";
}

TEST_F(UcmaGroups, OnlyDatagramsWithADeviceAndBeforeTheRoute) {
    EXPECT_EQ(client.join_group(99, kGroup, 1), -EINVAL);
    EXPECT_EQ(client.join_group(bound(RDMA_PS_TCP), kGroup, 1), -EINVAL);
    ASSERT_EQ(client.create(7, RDMA_PS_UDP), 0);
    EXPECT_EQ(client.join_group(client.id, kGroup, 1), -EINVAL);
    EXPECT_EQ(client.bind(client.id, ipv4("0.0.0.0", 0)), 0);
    EXPECT_EQ(client.join_group(client.id, kGroup, 1), -EINVAL) << "any device";
    ASSERT_EQ(client.resolve(client.id, kGroup), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(client.join_group(client.id, kGroup, 1), 0);
    ASSERT_EQ(client.wait_event(), kJoined);
    ASSERT_EQ(
        client.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{client.id, 2000}), 0);
    EXPECT_EQ(client.join_group(client.id, kGroup, 1), -EINVAL);
    EXPECT_EQ(client.join_group(bound(RDMA_PS_IPOIB), kGroup, 1), 0);
    EXPECT_EQ(count("joins"), 2);
}

TEST_F(UcmaGroups, WhatIsNoGroupIsRefused) {
    const std::uint32_t id = bound();
    for (const char* const host : {"0.0.0.0", "10.77.0.1", "240.0.0.1"}) {
        EXPECT_EQ(client.join_group(id, ipv4(host, 0), 1), -EINVAL) << host;
    }
    EXPECT_EQ(client.join_group(id, kGroup6, 1), -EINVAL) << "from an IPv4 address";
    EXPECT_EQ(client.join_group(id, kGroup, 1, RDMA_MC_JOIN_FLAG_RESERVED), -EINVAL);
    std::array<std::byte, 48> ib{};
    ib[0] = std::byte{Address::kIb};
    EXPECT_EQ(client.join_group(id, ib, 1), -ENODEV);
    rdma_ucm_join_mcast cmd{};
    cmd.id = id;
    cmd.addr_size = sizeof kGroup;
    std::memcpy(&cmd.addr, &kGroup, sizeof kGroup);
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_JOIN_MCAST, cmd, 0), -ENOSPC);
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_JOIN_MCAST, cmd, 4), -EFAULT);
    cmd.addr_size = sizeof kGroup6;
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_JOIN_MCAST, cmd, 4), -EINVAL);
    EXPECT_EQ(count("joins"), 0);
    EXPECT_FALSE(client.readable()) << "nobody hears of a join that failed";
}

TEST_F(UcmaGroups, EachJoinIsItsOwn) {
    const std::uint32_t id = bound();
    ASSERT_EQ(client.join_group(id, kGroup, 1), 0);
    const std::uint32_t first = client.group;
    ASSERT_EQ(client.join_group(id, kGroup, 2), 0) << "the same group";
    EXPECT_NE(client.group, first);
    ASSERT_EQ(client.join_group(id, ipv4("239.1.2.4", 0), 3), 0);
    ASSERT_EQ(client.wait_event(), kJoined);
    EXPECT_EQ(client.leave_group(first), 0);
    EXPECT_EQ(client.reported, 1U);
    EXPECT_EQ(client.leave_group(first), -ENOENT);
    for (const std::uint64_t uid : {2, 3}) {
        ASSERT_EQ(client.wait_event(), kJoined);
        EXPECT_EQ(client.event.uid, uid);
    }
    EXPECT_EQ(client.destroy(id), 0);
    EXPECT_EQ(client.reported, 3U);
    EXPECT_EQ(count("joins"), 0) << "they go with the identifier";
}

TEST_F(UcmaGroups, LeavingTakesTheUnreadEventBack) {
    const std::uint32_t id = bound();
    ASSERT_EQ(client.join_group(id, kGroup, 1), 0);
    ASSERT_TRUE(client.readable(10'000));
    ASSERT_EQ(client.leave_group(client.group), 0);
    EXPECT_EQ(client.reported, 0U);
    EXPECT_FALSE(client.readable());
    EXPECT_EQ(client.get_event(), -EAGAIN);
    EXPECT_EQ(client.leave_group(client.group), -ENOENT);
}

TEST_F(UcmaGroups, JoinOfAnotherDescriptorIsNotFound) {
    const std::uint32_t id = bound();
    ASSERT_EQ(client.join_group(id, kGroup, 1), 0);
    const std::uint32_t group = client.group;
    CmClient other(card.directory);
    EXPECT_EQ(other.leave_group(group), -EINVAL);
    ASSERT_EQ(other.migrate(client, id), 0) << "it goes with its identifier";
    EXPECT_EQ(client.leave_group(group), -EINVAL);
    ASSERT_EQ(other.wait_event(), kJoined) << "and so does its event";
    EXPECT_EQ(other.leave_group(group), 0);
    EXPECT_EQ(other.reported, 1U);
}

TEST_F(UcmaGroups, OneIdentifierHasNotAllJoins) {
    const std::uint32_t id = bound();
    int result = 0;
    int made = 0;
    while (made < 2000 && (result = client.join_group(id, kGroup, 1)) == 0) {
        ++made;
    }
    EXPECT_EQ(result, -ENOMEM);
    EXPECT_EQ(made, 1024);
    EXPECT_EQ(client.join_group(bound(), kGroup, 1), 0);
    client.close();
    for (int n = 0; n < 3000 && count("descriptors") != 0; ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(count("joins"), 0);
}

TEST(UcmaWithoutGroups, OnlySendersJoin) {
    const uverbs::test::RunningCard card(1024, 16U << 20, true, 1, DINGO_CAP_MCAST);
    CmClient client(card.directory);
    ASSERT_EQ(client.create(7, RDMA_PS_UDP), 0);
    ASSERT_EQ(client.bind(client.id, ipv4("10.77.0.1", 0)), 0);
    EXPECT_EQ(client.join_group(client.id, kGroup, 1), -EOPNOTSUPP);
    EXPECT_EQ(client.join_group(client.id, kGroup, 1, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER), 0);
    EXPECT_EQ(client.wait_event(), kJoined);
}

}  // namespace
}  // namespace dingo::rdma_cm::test
