// SPDX-License-Identifier: BSD-2-Clause
// ATTACH_MCAST and DETACH_MCAST, as executed by ib_uverbs.
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint64_t kUd = 4;
constexpr std::array<std::uint8_t, 16> kGroup{0, 0, 0,    0,    0,   0, 0, 0,
                                              0, 0, 0xff, 0xff, 239, 1, 2, 3};
constexpr std::array<std::uint8_t, 16> kOther{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
constexpr std::array<std::uint8_t, 16> kHost{0, 0, 0,    0,    0,  0,  0, 0,
                                             0, 0, 0xff, 0xff, 10, 77, 0, 1};

/// A client with a PD, a CQ and a UD QP.
struct Member {
    explicit Member(const RunningCard& card) : client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.alloc_pd(), 0);
        pd = verbs.handle;
        EXPECT_EQ(verbs.create_cq(), 0);
        cq = verbs.handle;
        qp = make_qp(kUd);
    }
    std::uint32_t make_qp(std::uint64_t type) {
        EXPECT_EQ(verbs.create_qp(pd, cq, -1, type), 0);
        return verbs.handle;
    }
    Client client;
    Verbs verbs;
    std::uint32_t pd = 0, cq = 0, qp = 0;
};

struct UverbsGroups : ::testing::Test {
    RunningCard card;
    Member member{card};
    Verbs& verbs = member.verbs;
    const std::uint32_t qp = member.qp;
};

TEST_F(UverbsGroups, QueuePairInAGroupIsBusyUntilItLeaves) {
    ASSERT_EQ(verbs.attach(qp, kGroup), 0);
    ASSERT_EQ(verbs.attach(qp, kOther), 0);
    EXPECT_EQ(verbs.destroy_qp(qp), -EBUSY);
    EXPECT_EQ(verbs.detach(qp, kGroup), 0);
    EXPECT_EQ(verbs.destroy_qp(qp), -EBUSY);
    EXPECT_EQ(verbs.detach(qp, kOther), 0);
    EXPECT_EQ(verbs.destroy_qp(qp), 0);
}

TEST_F(UverbsGroups, AttachedTwiceIsOnceWhateverTheLid) {
    ASSERT_EQ(verbs.attach(qp, kGroup, 0xc000), 0);
    ASSERT_EQ(verbs.attach(qp, kGroup, 0xc001), 0);
    EXPECT_EQ(verbs.detach(qp, kGroup), 0);
    EXPECT_EQ(verbs.detach(qp, kGroup, 0xc001), -EINVAL);
    EXPECT_EQ(verbs.destroy_qp(qp), 0);
}

TEST_F(UverbsGroups, WhatCannotBeAttachedIsRefused) {
    EXPECT_EQ(verbs.attach(qp, kHost), -EINVAL);
    EXPECT_EQ(verbs.attach(99, kGroup), -EINVAL);
    EXPECT_EQ(verbs.attach(member.make_qp(2), kGroup), -EINVAL) << "RC";
    EXPECT_EQ(verbs.detach(qp, kGroup), -EINVAL);
    EXPECT_EQ(verbs.destroy_qp(qp), 0) << "none of them has left something";
}

TEST_F(UverbsGroups, ClientThatGoesLeavesNothing) {
    ib_uverbs_query_device_resp attr{};
    ASSERT_GT(verbs.client.command(IB_USER_VERBS_CMD_QUERY_DEVICE,
                                   Verbs::zeroed<ib_uverbs_query_device>(), attr),
              0);
    ASSERT_GT(attr.max_mcast_qp_attach, 0U);
    EXPECT_EQ(attr.max_total_mcast_qp_attach, attr.max_mcast_grp * attr.max_mcast_qp_attach);
    // Attach to the maximum number of groups, twice.
    for (int round = 0; round < 2; ++round) {
        Member other(card);
        auto gid = kOther;
        for (std::uint32_t n = 0; n < attr.max_mcast_grp; ++n) {
            gid[14] = static_cast<std::uint8_t>(n >> 8);
            gid[15] = static_cast<std::uint8_t>(n);
            ASSERT_EQ(other.verbs.attach(other.qp, gid), 0) << n;
        }
        EXPECT_EQ(verbs.attach(qp, kGroup), -ENOMEM);
        other.client.close();
        ASSERT_TRUE(card.wait_for_clients(1));
    }
    EXPECT_EQ(verbs.attach(qp, kGroup), 0);
}

TEST(UverbsWithoutGroups, CommandsAreNotThere) {
    const RunningCard card(1024, 16U << 20, false, 1, DINGO_CAP_MCAST);
    Member member(card);
    EXPECT_EQ(member.verbs.attach(member.qp, kGroup), -EOPNOTSUPP);
    EXPECT_EQ(member.verbs.detach(member.qp, kGroup), -EOPNOTSUPP);
    EXPECT_EQ(member.verbs.attach(99, kHost), -EOPNOTSUPP) << "whatever they say";
    ib_uverbs_query_device_resp attr{};
    ASSERT_GT(member.client.command(IB_USER_VERBS_CMD_QUERY_DEVICE,
                                    Verbs::zeroed<ib_uverbs_query_device>(), attr),
              0);
    EXPECT_EQ(attr.max_mcast_grp + attr.max_mcast_qp_attach + attr.max_total_mcast_qp_attach, 0U);
}

}  // namespace
}  // namespace dingo::uverbs::test
