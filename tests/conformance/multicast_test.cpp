// SPDX-License-Identifier: BSD-2-Clause
//
// Datagrams to multicast groups: which QPs get a copy, and the effect of losing one on the others.
#include "conformance.h"

namespace dingo::conformance {
namespace {

using GidBytes = std::array<std::uint8_t, 16>;

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kGrh = 40;
constexpr GidBytes kGroup4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
constexpr GidBytes kGroup6 = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};

/// Two cards with some UD QPs each.
struct Groups {
    static constexpr unsigned kQps = 3;

    explicit Groups(const std::string& engine, unsigned gid = 0, const EngineConfig& config = {})
        : cards(engine, engine, config), gid_index(gid), group(gid == 0 ? kGroup4 : kGroup6) {
        for (unsigned i = 0; i < 2; ++i) {
            mr[i] = driver(i).create_mr(1u << 16, kAllAccess);
            for (unsigned n = 0; n < kQps; ++n) {
                cq[i][n] = driver(i).create_cq();
                test::QpOptions options;
                options.kind = DINGO_QPT_UD;
                options.log_sq = 8;
                options.log_rq = 7;
                qp[i][n] = driver(i).create_qp(cq[i][n], cq[i][n], options);
                test::TestDriver::PathOptions path;
                path.qkey = kQkey;
                driver(i).bring_up(qp[i][n], path);
            }
        }
    }
    test::TestDriver& driver(unsigned i) { return cards.driver(i); }
    std::uint32_t attach(unsigned i, unsigned n) {
        return driver(i).multicast(DINGO_OP_ATTACH_MCAST, qp[i][n].qpn, group).status;
    }
    std::uint32_t detach(unsigned i, unsigned n) {
        return driver(i).multicast(DINGO_OP_DETACH_MCAST, qp[i][n].qpn, group).status;
    }
    void receive(unsigned i, unsigned n, std::uint32_t bytes = 4096) {
        driver(i).post_recv(qp[i][n], n, {mr[i].sge(at(n), bytes)});
    }
    static std::uint64_t at(unsigned n) { return (n + 1) * std::uint64_t{8192}; }
    /// Sends from QP 0 of card 0.
    void send(std::uint32_t length, std::uint32_t qkey = kQkey) {
        test::SendWr wr;
        wr.sges = {mr[0].sge(0, length)};
        wr.ud = cards.ud_to(1, DINGO_QPN_MCAST, qkey, gid_index);
        std::ranges::copy(group, wr.ud.dgid);
        const std::array<std::uint8_t, 6> mac =
            gid_index == 0
                ? std::array<std::uint8_t, 6>{1, 0, 0x5e, group[13], group[14], group[15]}
                : std::array<std::uint8_t, 6>{0x33,      0x33,      group[12],
                                              group[13], group[14], group[15]};
        std::ranges::copy(mac, wr.ud.dmac);
        driver(0).post_send(qp[0][0], wr);
    }
    /// Returns the next completion of a receive, if any.
    std::optional<dingo_cqe> received(unsigned i, unsigned n) {
        cards.settle();
        while (auto cqe = driver(i).poll_cq(cq[i][n]))
            if (DINGO_GET(DINGO_CQE_QPN_OP_OPCODE_MASK, cqe->qpn_op) >= DINGO_WC_RECV)
                return cqe;
        return std::nullopt;
    }
    std::uint64_t stat(unsigned i, dingo_card_counter counter) {
        return driver(i).card_stat(counter);
    }

    test::TwoCards cards;
    unsigned gid_index;
    GidBytes group;
    std::array<std::array<test::Cq, kQps>, 2> cq;
    std::array<std::array<test::TestQp, kQps>, 2> qp;
    std::array<test::Mr, 2> mr;
};

}  // namespace

CONFORMANCE_SUITE(Multicast);

TEST_P(Multicast, EveryAttachedQpGetsACopyWithTheNetworkHeader) {
    ENGINE_NEEDS(MCAST);
    for (const unsigned gid : {0u, 1u}) {
        Groups g(engine(), gid);
        random_bytes(g.cards.host(0).bytes(g.mr[0].bus, 1000), gid);
        for (const unsigned n : {0u, 1u}) {
            ASSERT_EQ(g.attach(1, n), DINGO_ST_OK);
            g.receive(1, n);
        }
        g.receive(1, 2);  // not in the group
        g.send(1000);
        for (const unsigned n : {0u, 1u}) {
            const auto cqe = g.received(1, n);
            ASSERT_TRUE(cqe) << n;
            EXPECT_EQ(cqe->byte_len, kGrh + 1000);
            const auto counters = g.driver(1).qp_stats(g.qp[1][n].qpn);
            EXPECT_EQ(counters[DINGO_QP_RX_PACKETS], 1u);
            EXPECT_EQ(counters[DINGO_QP_RX_BYTES],
                      g.driver(0).qp_stats(g.qp[0][0].qpn)[DINGO_QP_TX_BYTES]);
            EXPECT_EQ(DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK, cqe->src_qpn), g.qp[0][0].qpn);
            EXPECT_NE(cqe->flags & DINGO_CQE_FLAGS_GRH_MASK, 0);
            const auto got = g.cards.host(1).bytes(g.mr[1].bus + Groups::at(n), kGrh + 1000);
            const std::size_t address = gid == 0 ? 4 : 16;
            EXPECT_EQ(
                std::memcmp(got.data() + kGrh - address, g.group.data() + 16 - address, address),
                0);
            EXPECT_TRUE(
                std::ranges::equal(got.subspan(kGrh), g.cards.host(0).bytes(g.mr[0].bus, 1000)));
        }
        EXPECT_FALSE(g.received(1, 2));
        EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_MCAST), 0u);
        EXPECT_EQ(g.stat(0, DINGO_CARD_RDMA_RX_PACKETS), 0u) << "nobody listens there";
    }
}

TEST_P(Multicast, ALostCopyCountsAndStopsNobody) {
    ENGINE_NEEDS(MCAST);
    Groups g(engine());
    for (const unsigned n : {0u, 1u, 2u})
        ASSERT_EQ(g.attach(1, n), DINGO_ST_OK);
    g.receive(1, 1, kGrh + 99);
    g.receive(1, 2);
    g.send(100);
    EXPECT_TRUE(g.received(1, 2));
    EXPECT_FALSE(g.received(1, 0));
    EXPECT_FALSE(g.received(1, 1));
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_UD_NO_BUFFER), 1u);
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_UD_LENGTH), 1u);
    EXPECT_EQ(g.driver(1).query_qp(g.qp[1][0].qpn).state, DINGO_QPS_RTS);

    g.receive(1, 0);
    g.receive(1, 2);
    g.driver(1).to_state(g.qp[1][2], DINGO_QPS_ERR);
    g.received(1, 2);  // flushed
    g.send(99);
    EXPECT_TRUE(g.received(1, 0));
    EXPECT_TRUE(g.received(1, 1)) << "the receive that was too short stayed";
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_QP_STATE), 1u);

    g.receive(1, 0);
    g.send(8, kQkey + 1);
    EXPECT_FALSE(g.received(1, 0));
    EXPECT_EQ(g.stat(1, DINGO_CARD_BAD_QKEY), 2u);
}

TEST_P(Multicast, QpsOfTheSendingCardGetTheirsInside) {
    ENGINE_NEEDS(MCAST);
    for (const std::uint32_t bytes : {0u, 8u, 3000u}) {
        Groups g(engine());
        random_bytes(g.cards.host(0).bytes(g.mr[0].bus, bytes), bytes);
        for (const auto& [i, n] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 0u}}) {
            ASSERT_EQ(g.attach(i, n), DINGO_ST_OK);
            g.receive(i, n);
        }
        g.send(bytes);
        for (const auto& [i, n] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 0u}}) {
            const auto cqe = g.received(i, n);
            ASSERT_TRUE(cqe) << i << " " << n;
            EXPECT_EQ(cqe->byte_len, kGrh + bytes);
            EXPECT_TRUE(
                std::ranges::equal(g.cards.host(i).bytes(g.mr[i].bus + Groups::at(n) + kGrh, bytes),
                                   g.cards.host(0).bytes(g.mr[0].bus, bytes)));
            EXPECT_FALSE(g.received(i, n)) << "once";
        }
        EXPECT_EQ(g.stat(0, DINGO_CARD_RDMA_TX_PACKETS), 1u);
        EXPECT_EQ(g.stat(0, DINGO_CARD_RDMA_RX_PACKETS), 1u);
    }
}

TEST_P(Multicast, ManyDatagramsToAnOwnGroupWaitForRoomAndAreNotLost) {
    ENGINE_NEEDS(MCAST);
    constexpr unsigned kMany = 100;  // more frames than loopback holds
    Groups g(engine());
    ASSERT_EQ(g.attach(0, 1), DINGO_ST_OK);
    ASSERT_EQ(g.attach(1, 0), DINGO_ST_OK);
    for (unsigned round = 0; round < 5; ++round) {
        for (unsigned k = 0; k < kMany; ++k) {
            g.receive(0, 1);
            g.receive(1, 0);
        }
        for (unsigned k = 0; k < kMany; ++k)
            g.send(64);
        for (unsigned k = 0; k < kMany; ++k) {
            EXPECT_TRUE(g.received(0, 1)) << k;
            EXPECT_TRUE(g.received(1, 0)) << k;
        }
        while (g.driver(0).poll_cq(g.cq[0][0])) {
        }
    }
}

TEST_P(Multicast, AGroupThatNobodyHasJoinedIsDroppedAndCounted) {
    ENGINE_NEEDS(MCAST);
    Groups g(engine());
    ASSERT_EQ(g.attach(1, 0), DINGO_ST_OK);
    g.receive(1, 0);
    g.group[15] ^= 1;
    g.send(8);
    EXPECT_FALSE(g.received(1, 0));
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_MCAST), 1u);
    g.group[15] ^= 1;
    g.driver(1).enable_port(9000, DINGO_CMD_SET_PORT_FLAGS_ALLMULTI_MASK);
    g.send(8);
    EXPECT_TRUE(g.received(1, 0)) << "the network function does not take it away";
    g.group[15] ^= 1;
    g.send(8);
    g.cards.settle();
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_MCAST), 1u) << "now the network function has it";
    EXPECT_EQ(g.stat(1, DINGO_CARD_ETH_RX_NO_BUFFER), 1u);
}

TEST_P(Multicast, AFrameInAForeignVlanIsDropped) {
    ENGINE_NEEDS(MCAST);
    Groups g(engine());
    ASSERT_EQ(g.attach(1, 0), DINGO_ST_OK);
    g.receive(1, 0);
    const std::uint8_t gid[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 9, 1};
    g.driver(0).set_gid(0, gid, 77);
    g.send(8);
    EXPECT_FALSE(g.received(1, 0));
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_ADDRESS), 1u);
    g.driver(1).set_gid(5, gid, 77);
    g.send(8);
    EXPECT_TRUE(g.received(1, 0));
}

TEST_P(Multicast, AttachingTwiceIsOnceAndDetachingAsWell) {
    ENGINE_NEEDS(MCAST);
    Groups g(engine());
    EXPECT_EQ(g.detach(1, 0), DINGO_ST_BAD_ID);
    EXPECT_EQ(g.attach(1, 0), DINGO_ST_OK);
    EXPECT_EQ(g.attach(1, 0), DINGO_ST_OK);
    EXPECT_EQ(g.detach(1, 1), DINGO_ST_BAD_ID);
    g.receive(1, 0);
    g.receive(1, 0);
    g.send(8);
    EXPECT_TRUE(g.received(1, 0));
    EXPECT_FALSE(g.received(1, 0));
    EXPECT_EQ(g.detach(1, 0), DINGO_ST_OK);
    EXPECT_EQ(g.detach(1, 0), DINGO_ST_BAD_ID);
    g.send(8);
    EXPECT_FALSE(g.received(1, 0));
}

TEST_P(Multicast, ResetDetachesNothingAndDestroyingAll) {
    ENGINE_NEEDS(MCAST);
    Groups g(engine());
    ASSERT_EQ(g.attach(1, 0), DINGO_ST_OK);
    g.driver(1).to_state(g.qp[1][0], DINGO_QPS_RESET);
    g.send(8);
    g.cards.settle();
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_QP_STATE), 1u);
    EXPECT_EQ(g.detach(1, 0), DINGO_ST_OK);
    ASSERT_EQ(g.attach(1, 0), DINGO_ST_OK);
    EXPECT_EQ(g.driver(1).destroy(DINGO_OP_DESTROY_QP, g.qp[1][0].qpn).status, DINGO_ST_OK);
    g.send(8);
    g.cards.settle();
    EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_MCAST), 1u);
}

TEST_P(Multicast, AsManyGroupsAndMembersAsTheLimitsSay) {
    ENGINE_NEEDS(MCAST);
    test::OneCard card(engine());
    test::TestDriver& d = card.driver;
    d.start();
    const test::Cq cq = d.create_cq();
    const dingo_limits limits = d.query_limits();
    ASSERT_GE(limits.max_mcast, 1u);
    ASSERT_GE(limits.max_mcast_qp, 1u);
    test::QpOptions options;
    options.kind = DINGO_QPT_UD;
    options.log_sq = options.log_rq = 0;
    const auto group = [](std::uint32_t number) {
        GidBytes gid = kGroup6;
        std::memcpy(gid.data() + 12, &number, sizeof number);
        return gid;
    };
    const auto attach = [&](const test::TestQp& qp, std::uint32_t number) {
        return d.multicast(DINGO_OP_ATTACH_MCAST, qp.qpn, group(number)).status;
    };
    for (unsigned round = 0; round < 2; ++round) {
        std::vector<test::TestQp> qps = {d.create_qp(cq, cq, options)};
        for (std::uint32_t n = 0; n < limits.max_mcast; ++n)
            ASSERT_EQ(attach(qps[0], n), DINGO_ST_OK) << n;
        EXPECT_EQ(attach(qps[0], limits.max_mcast), DINGO_ST_NO_RESOURCE);
        EXPECT_EQ(attach(qps[0], 0), DINGO_ST_OK) << "it is attached already";
        while (qps.size() < limits.max_mcast_qp) {
            qps.push_back(d.create_qp(cq, cq, options));
            ASSERT_EQ(attach(qps.back(), 0), DINGO_ST_OK) << qps.size();
        }
        qps.push_back(d.create_qp(cq, cq, options));
        EXPECT_EQ(attach(qps.back(), 0), DINGO_ST_NO_RESOURCE);
        EXPECT_EQ(attach(qps.back(), 1), DINGO_ST_OK);
        for (const test::TestQp& qp : qps)
            ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    }
}

TEST_P(Multicast, ACardWithoutTheCapabilityDropsAndCounts) {
    EngineConfig config;
    config.withheld = DINGO_CAP_MCAST;
    for (const unsigned gid : {0u, 1u}) {
        Groups g(engine(), gid, config);
        if ((g.driver(1).read64(DINGO_REG_CAPS) & DINGO_CAP_MCAST) != 0)
            GTEST_SKIP() << "the engine cannot withhold it";
        g.receive(1, 0);
        g.send(64);
        EXPECT_FALSE(g.received(1, 0));
        EXPECT_EQ(g.stat(1, DINGO_CARD_ETH_RX_FILTERED), 1u) << "nobody's MAC address";
        dingo_cmd_set_mac mac{};  // as the network stack does when it joins
        mac.index = 5;
        mac.valid = 1;
        std::memcpy(mac.mac, gid == 0 ? "\x01\x00\x5e" : "\x33\x33", gid == 0 ? 3 : 2);
        std::memcpy(mac.mac + (gid == 0 ? 3 : 2), &g.group[gid == 0 ? 13 : 12], gid == 0 ? 3 : 4);
        g.driver(1).execute_ok(DINGO_OP_SET_MAC, mac);
        g.send(64);
        EXPECT_FALSE(g.received(1, 0));
        EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_BAD_QPN), 1u);
        EXPECT_EQ(g.stat(1, DINGO_CARD_RX_DROP_MCAST), 0u);
        EXPECT_EQ(g.stat(0, DINGO_CARD_RX_DROP_MCAST), 0u);
    }
}

TEST_P(Multicast, ACardWithoutTheCapabilityRefuses) {
    // The RTL lacks it; the model is configured without it.
    EngineConfig config;
    config.withheld = DINGO_CAP_MCAST;
    test::OneCard card(engine(), config);
    test::TestDriver& d = card.driver;
    d.start();
    if ((d.read64(DINGO_REG_CAPS) & DINGO_CAP_MCAST) != 0)
        GTEST_SKIP() << "the engine cannot withhold it";
    const test::Cq cq = d.create_cq();
    test::QpOptions options;
    options.kind = DINGO_QPT_UD;
    const test::TestQp qp = d.create_qp(cq, cq, options);
    EXPECT_EQ(d.multicast(DINGO_OP_ATTACH_MCAST, qp.qpn, kGroup4).status, DINGO_ST_UNSUPPORTED);
    EXPECT_EQ(d.multicast(DINGO_OP_DETACH_MCAST, qp.qpn, kGroup4).status, DINGO_ST_UNSUPPORTED);
    EXPECT_EQ(d.query_limits().max_mcast, 0u);
    EXPECT_EQ(d.query_limits().max_mcast_qp, 0u);
    EXPECT_EQ(d.card_stats().size(), std::size_t{DINGO_CARD_COUNTERS});
    EXPECT_EQ(d.card_stat(DINGO_CARD_RX_DROP_MCAST), 0u);
}

}  // namespace dingo::conformance
