// SPDX-License-Identifier: BSD-2-Clause
//
// Multicast groups of UD QPs: which QPs may be attached, how many, and how a group is addressed.
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint8_t kRc = 2, kUd = 4;

Gid gid_of(const char* text) {
    return packet::parse_gid(text).value().bytes;
}

class Groups : public TwoCards {
  protected:
    Client client{*a};
    Client::QpRings qp = client.make_qp(kUd);
    const Gid group = gid_of("239.1.2.3");

    dingo_create_ah_resp ah(const char* to, std::uint8_t sgid_index) const {
        AhAttr attr;
        attr.dgid = gid_of(to);
        attr.sgid_index = sgid_index;
        attr.is_global = true;
        Udata udata;
        a->driver.create_ah(attr, udata);
        return response_of<dingo_create_ah_resp>(udata);
    }
};

TEST_F(Groups, AttachedTwiceIsOnceAndDetachedTwiceIsAnError) {
    EXPECT_EQ(errno_of([&] { qp.qp->detach(group); }), EINVAL);
    EXPECT_EQ(errno_of([&] { qp.qp->attach(group); }), 0);
    EXPECT_EQ(errno_of([&] { qp.qp->attach(group); }), 0);
    EXPECT_EQ(errno_of([&] { qp.qp->detach(gid_of("239.1.2.4")); }), EINVAL);
    EXPECT_EQ(errno_of([&] { qp.qp->detach(group); }), 0);
    EXPECT_EQ(errno_of([&] { qp.qp->detach(group); }), EINVAL);
}

TEST_F(Groups, OnlyDatagramsAndOnlyGroups) {
    auto rc = client.make_qp(kRc);
    EXPECT_EQ(errno_of([&] { rc.qp->attach(group); }), EINVAL);
    EXPECT_EQ(errno_of([&] { rc.qp->detach(group); }), EINVAL);
    for (const char* const host : {"10.77.0.1", "fd77::1", "240.0.0.1", "::"}) {
        EXPECT_EQ(errno_of([&] { qp.qp->attach(gid_of(host)); }), EINVAL) << host;
    }
    EXPECT_EQ(errno_of([&] { qp.qp->attach(gid_of("ff0e::17")); }), 0);
}

TEST_F(Groups, LimitsAreTheCardsAndMoreIsRefused) {
    const DeviceAttr attr = a->driver.query_device();
    ASSERT_GT(attr.max_mcast_grp, 0U);
    ASSERT_GT(attr.max_mcast_qp_attach, 0U);
    EXPECT_EQ(attr.max_total_mcast_qp_attach, attr.max_mcast_grp * attr.max_mcast_qp_attach);
    Gid one = gid_of("ff0e::");
    for (std::uint32_t n = 0; n < attr.max_mcast_grp; ++n) {
        one[14] = static_cast<std::uint8_t>(n >> 8);
        one[15] = static_cast<std::uint8_t>(n);
        ASSERT_EQ(errno_of([&] { qp.qp->attach(one); }), 0) << n;
    }
    EXPECT_EQ(errno_of([&] { qp.qp->attach(group); }), ENOMEM);
    qp.qp.reset();
    auto next = client.make_qp(kUd);
    EXPECT_EQ(errno_of([&] { next.qp->attach(group); }), 0) << "a QP takes its groups along";
}

TEST_F(Groups, AddressIsKnownWithoutAskingAnybody) {
    const Mac of_ipv4{0x01, 0x00, 0x5e, 0x01, 0x02, 0x03};
    const Mac of_ipv6{0x33, 0x33, 0xaa, 0xbb, 0x00, 0x17};
    EXPECT_EQ(std::to_array(ah("239.129.2.3", 1).dmac), of_ipv4) << "23 bits of it";
    EXPECT_EQ(std::to_array(ah("ff0e::aabb:17", 2).dmac), of_ipv6);
    EXPECT_EQ(errno_of([&] { ah("239.1.2.3", 2); }), EINVAL) << "from an IPv6 address";
    EXPECT_EQ(errno_of([&] { ah("ff0e::17", 1); }), EINVAL);
    EXPECT_EQ(errno_of([&] { a->driver.resolve(group); }), 0);
}

TEST_F(Groups, HopLimitIsTheOneThatWasGiven) {
    AhAttr attr;
    attr.dgid = group;
    attr.sgid_index = 1;
    attr.is_global = true;
    for (const std::uint8_t hops : {1, 7}) {
        attr.hop_limit = hops;
        EXPECT_EQ(make_address_vector(a->driver, attr, 0, 0).hop_limit, hops);
    }
}

TEST_F(Groups, ConnectionHasOnePeer) {
    auto rc = client.make_qp(kRc);
    Udata none;
    QpAttr attr;
    attr.qp_state = DINGO_QPS_INIT;
    attr.port_num = 1;
    rc.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_PORT | DINGO_QPM_PKEY_INDEX | DINGO_QPM_ACCESS,
                  none);
    attr.qp_state = DINGO_QPS_RTR;
    attr.path_mtu = 3;
    attr.max_dest_rd_atomic = 1;
    attr.ah.is_global = true;
    attr.ah.sgid_index = 1;
    attr.ah.dgid = group;
    EXPECT_EQ(errno_of([&] {
                  rc.qp->modify(attr,
                                DINGO_QPM_STATE | DINGO_QPM_AV | DINGO_QPM_PATH_MTU |
                                    DINGO_QPM_DEST_QPN | DINGO_QPM_RQ_PSN |
                                    DINGO_QPM_MAX_DEST_RD_ATOMIC | DINGO_QPM_MIN_RNR_TIMER,
                                none);
              }),
              EINVAL);
}

TEST_F(Groups, CardThatFailedHasLostThem) {
    qp.qp->attach(group);
    a->driver.admin().fail();
    EXPECT_EQ(errno_of([&] { qp.qp->detach(group); }), 0);
    EXPECT_EQ(errno_of([&] { qp.qp->attach(group); }), EIO);
}

TEST(CardWithoutGroups, RefusesThemAndCanSendToThem) {
    auto wires = make_loop_pair();
    Host host(*wires.first, 0x02'44'49'00'00'0A, {"10.77.0.1/24"}, DINGO_CAP_MCAST);
    host.poll(1);
    Client client(host);
    auto qp = client.make_qp(kUd);
    EXPECT_FALSE(host.driver.has_groups());
    EXPECT_EQ(host.driver.query_device().max_mcast_grp, 0U);
    EXPECT_EQ(host.driver.query_device().max_total_mcast_qp_attach, 0U);
    EXPECT_EQ(errno_of([&] { qp.qp->attach(gid_of("239.1.2.3")); }), EOPNOTSUPP);
    EXPECT_EQ(errno_of([&] { qp.qp->detach(gid_of("239.1.2.3")); }), EOPNOTSUPP);
    AhAttr attr;
    attr.dgid = gid_of("239.1.2.3");
    attr.sgid_index = 1;
    attr.is_global = true;
    Udata udata;
    EXPECT_EQ(errno_of([&] { host.driver.create_ah(attr, udata); }), 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
