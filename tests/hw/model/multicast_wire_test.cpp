// SPDX-License-Identifier: BSD-2-Clause
//
// The wire is told to join and leave the card's groups, once each, however many QPs a group has.
#include <gtest/gtest.h>

#include <set>

#include "two_cards.h"

namespace dingo::test {
namespace {

using Gid = std::array<std::uint8_t, 16>;
constexpr Gid kGroup = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
constexpr Gid kOther = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};

struct OneOfTwo {
    OneOfTwo() {
        card.driver.start();
        cq = card.driver.create_cq();
        QpOptions options;
        options.kind = DINGO_QPT_UD;
        for (TestQp& one : qp)
            one = card.driver.create_qp(cq, cq, options);
    }
    void attach(unsigned n, const Gid& group) {
        ASSERT_EQ(card.driver.multicast(DINGO_OP_ATTACH_MCAST, qp[n].qpn, group).status,
                  DINGO_ST_OK);
    }
    void detach(unsigned n, const Gid& group) {
        ASSERT_EQ(card.driver.multicast(DINGO_OP_DETACH_MCAST, qp[n].qpn, group).status,
                  DINGO_ST_OK);
    }
    const std::vector<Gid>& joined() { return card.wire.groups; }

    OneCard card;
    Cq cq;
    std::array<TestQp, 2> qp;
};

TEST(MulticastWire, FirstAndLastQpOfAGroupAreTold) {
    OneOfTwo o;
    o.attach(0, kGroup);
    EXPECT_EQ(o.joined(), std::vector{kGroup});
    o.attach(0, kGroup);
    o.attach(1, kGroup);
    o.attach(1, kOther);
    EXPECT_EQ(o.joined(), (std::vector{kGroup, kOther}));
    o.detach(0, kGroup);
    EXPECT_EQ(o.joined(), (std::vector{kGroup, kOther})) << "the other QP is there";
    o.detach(1, kGroup);
    EXPECT_EQ(o.joined(), std::vector{kOther});
}

TEST(MulticastWire, DestroyedQpLeaves) {
    OneOfTwo o;
    o.attach(0, kGroup);
    o.attach(1, kOther);
    ASSERT_EQ(o.card.driver.destroy(DINGO_OP_DESTROY_QP, o.qp[0].qpn).status, DINGO_ST_OK);
    EXPECT_EQ(o.joined(), std::vector{kOther});
}

TEST(MulticastWire, ResetLeavesAll) {
    OneOfTwo o;
    o.attach(0, kGroup);
    o.attach(1, kOther);
    o.card.driver.reset();
    EXPECT_TRUE(o.joined().empty());
}

}  // namespace
}  // namespace dingo::test
