// SPDX-License-Identifier: BSD-2-Clause
//
// GID domains: which GID table entries are visible to which QPs.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(GidDomains);

namespace {

using Octets = std::uint8_t[16];

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint16_t kOwn = 7;
constexpr std::uint16_t kForeign = 8;
/// Indexes of the GID table: shared; for QPs of kOwn; for QPs of kForeign.
enum Entry : std::uint16_t { kShared = 0, kOwnEntry = 2, kForeignEntry = 3 };

/// Sets 10.77.ENTRY.CARD; entry 0 is that of TwoCards.
void gid_of(Octets& gid, unsigned card, unsigned entry) {
    const std::uint8_t made[] = {10, 77, static_cast<std::uint8_t>(entry),
                                 static_cast<std::uint8_t>(1 + card)};
    std::ranges::fill(gid, 0);
    gid[10] = gid[11] = 0xff;
    std::ranges::copy(made, gid + 12);
}

/// Two cards with UD QPs and the entries above; their QPs belong to `domain[card]`.
struct Cards {
    Cards(const std::string& engine, std::array<std::uint16_t, 2> domain) : cards(engine, engine) {
        for (unsigned i = 0; i < 2; ++i) {
            Octets gid;
            for (const auto& [entry, of] :
                 {std::pair{kOwnEntry, kOwn}, {kForeignEntry, kForeign}}) {
                gid_of(gid, i, entry);
                driver(i).set_gid(entry, gid, DINGO_VLAN_NONE, of);
            }
            cq[i] = driver(i).create_cq();
            test::QpOptions options;
            options.kind = DINGO_QPT_UD;
            options.domain = domain[i];
            qp[i] = driver(i).create_qp(cq[i], cq[i], options);
            test::TestDriver::PathOptions path;
            path.qkey = kQkey;
            driver(i).bring_up(qp[i], path);
            mr[i] = driver(i).create_mr(1u << 16, kAllAccess);
            driver(i).post_recv(qp[i], 1, {mr[i].sge(0, 4096)});
        }
    }
    test::TestDriver& driver(unsigned i) { return cards.driver(i); }
    /// Sends from card 0 with the address of entry `from` to the address of entry `to` of card 1.
    dingo_cqe send(unsigned from, unsigned to) {
        test::SendWr wr;
        wr.sges = {mr[0].sge(0, 64)};
        wr.ud = cards.ud_to(1, qp[1].qpn, kQkey);
        wr.ud.sgid_index = static_cast<std::uint16_t>(from);
        gid_of(wr.ud.dgid, 1, to);
        driver(0).post_send(qp[0], wr);
        return cards.wait_cq(0, cq[0]);
    }
    bool received() {
        cards.settle();
        if (!driver(1).poll_cq(cq[1]))
            return false;
        driver(1).post_recv(qp[1], 1, {mr[1].sge(0, 4096)});
        return true;
    }
    void set_domain(unsigned card, std::uint16_t entry, std::uint16_t domain) {
        Octets gid;
        gid_of(gid, card, entry);
        driver(card).set_gid(entry, gid, DINGO_VLAN_NONE, domain);
    }

    test::TwoCards cards;
    std::array<test::Cq, 2> cq;
    std::array<test::TestQp, 2> qp;
    std::array<test::Mr, 2> mr;
};

}  // namespace

TEST_P(GidDomains, ADatagramWithAnAddressOfAnotherDomainIsAnError) {
    ENGINE_NEEDS(GID_DOMAINS);
    Cards d(engine(), {kOwn, 0});
    for (const std::uint16_t entry : {kShared, kOwnEntry}) {
        EXPECT_EQ(d.send(entry, kShared).status, DINGO_WCS_SUCCESS) << entry;
        EXPECT_TRUE(d.received()) << entry;
    }
    EXPECT_EQ(d.driver(0).card_stat(DINGO_CARD_GID_DENIED), 0U);
    const std::uint64_t sent = d.driver(0).card_stat(DINGO_CARD_RDMA_TX_PACKETS);
    const dingo_cqe cqe = d.send(kForeignEntry, kShared);
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_GID);
    EXPECT_FALSE(d.received());
    EXPECT_EQ(d.driver(0).card_stat(DINGO_CARD_RDMA_TX_PACKETS), sent);
    EXPECT_EQ(d.driver(0).card_stat(DINGO_CARD_GID_DENIED), 1U);
    EXPECT_EQ(d.driver(0).query_qp(d.qp[0].qpn).state, DINGO_QPS_SQE);
    // The same status for an invalid entry, which is not counted here.
    d.driver(0).to_state(d.qp[0], DINGO_QPS_RTS);
    EXPECT_EQ(d.send(200, kShared).vendor_err, DINGO_VERR_GID);
    EXPECT_EQ(d.driver(0).card_stat(DINGO_CARD_GID_DENIED), 1U);
}

TEST_P(GidDomains, AQpOfNoDomainHasAllEntries) {
    ENGINE_NEEDS(GID_DOMAINS);
    Cards d(engine(), {0, 0});
    for (const std::uint16_t entry : {kShared, kOwnEntry, kForeignEntry}) {
        EXPECT_EQ(d.send(entry, entry).status, DINGO_WCS_SUCCESS) << entry;
        EXPECT_TRUE(d.received()) << entry;
    }
}

TEST_P(GidDomains, NothingArrivesForAnAddressOfAnotherDomain) {
    ENGINE_NEEDS(GID_DOMAINS);
    Cards d(engine(), {0, kOwn});
    d.send(kShared, kForeignEntry);
    EXPECT_FALSE(d.received());
    EXPECT_EQ(d.driver(1).card_stat(DINGO_CARD_RX_DROP_ADDRESS), 1U);
    for (const std::uint16_t entry : {kShared, kOwnEntry}) {
        d.send(kShared, entry);
        EXPECT_TRUE(d.received()) << entry;
    }
}

TEST_P(GidDomains, AnEntryCanPassToAnotherDomain) {
    ENGINE_NEEDS(GID_DOMAINS);
    Cards d(engine(), {kOwn, 0});
    d.set_domain(0, kForeignEntry, kOwn);
    EXPECT_EQ(d.send(kForeignEntry, kShared).status, DINGO_WCS_SUCCESS);
    d.set_domain(0, kForeignEntry, kForeign);
    EXPECT_EQ(d.send(kForeignEntry, kShared).vendor_err, DINGO_VERR_GID);
}

TEST_P(GidDomains, AGroupsMemberHearsOnlyTheVlansOfItsDomain) {
    ENGINE_NEEDS(GID_DOMAINS);
    Cards d(engine(), {0, kOwn});
    NEEDS(d.driver(1), MCAST);
    constexpr std::array<std::uint8_t, 16> kGroup = {0, 0, 0,    0,    0,   0, 0, 0,
                                                     0, 0, 0xff, 0xff, 239, 1, 2, 3};
    ASSERT_EQ(d.driver(1).multicast(DINGO_OP_ATTACH_MCAST, d.qp[1].qpn, kGroup).status,
              DINGO_ST_OK);
    Octets gid;
    gid_of(gid, 0, 9);
    d.driver(0).set_gid(9, gid, 77);
    gid_of(gid, 1, 9);
    test::SendWr wr;
    wr.sges = {d.mr[0].sge(0, 64)};
    wr.ud = d.cards.ud_to(1, DINGO_QPN_MCAST, kQkey);
    wr.ud.sgid_index = 9;
    std::ranges::copy(kGroup, wr.ud.dgid);
    std::ranges::copy(std::to_array<std::uint8_t>({1, 0, 0x5e, 1, 2, 3}), wr.ud.dmac);
    for (const std::uint16_t domain : {kForeign, kOwn}) {
        d.driver(1).set_gid(9, gid, 77, domain);
        d.driver(0).post_send(d.qp[0], wr);
        EXPECT_EQ(d.cards.wait_cq(0, d.cq[0]).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(d.received(), domain == kOwn);
    }
    EXPECT_EQ(d.driver(1).card_stat(DINGO_CARD_RX_DROP_ADDRESS), 1U);
}

TEST_P(GidDomains, ModifyQpRefusesASourceOfAnotherDomain) {
    ENGINE_NEEDS(GID_DOMAINS);
    Cards d(engine(), {0, 0});
    test::QpOptions options;
    options.domain = kOwn;
    const test::TestQp qp = d.driver(0).create_qp(d.cq[0], d.cq[0], options);
    auto path = d.cards.path_to(1, 0x1234);
    d.driver(0).to_init(qp, path);
    path.sgid_index = kForeignEntry;
    try {
        d.driver(0).to_rtr(qp, path);
        ADD_FAILURE() << "was accepted";
    } catch (const test::AdminError& error) {
        EXPECT_EQ(error.status, DINGO_ST_BAD_FIELD);
        EXPECT_EQ(error.detail,
                  offsetof(dingo_cmd_modify_qp, attr) + offsetof(dingo_qp_attr, sgid_index));
    }
    path.sgid_index = kOwnEntry;
    EXPECT_NO_THROW(d.driver(0).to_rtr(qp, path));
}

TEST_P(GidDomains, AConnectionEndsWhenItsEntryPassesToAnotherDomain) {
    ENGINE_NEEDS(GID_DOMAINS);
    PairOptions options;
    options.timeout(8, 1);
    options.connect.qp.domain = kOwn;
    Pair pair(engine(), options);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 8)).status, DINGO_WCS_SUCCESS);
    Octets gid;
    gid_of(gid, 1, 0);
    pair.driver(1).set_gid(0, gid, DINGO_VLAN_NONE, kForeign);
    EXPECT_EQ(pair.complete(pair.write(0, 0, 8)).status, DINGO_WCS_RETRY_EXC_ERR);
    EXPECT_GT(pair.stat(1, DINGO_CARD_RX_DROP_ADDRESS), 0U);

    Pair other(engine(), options);
    gid_of(gid, 0, 0);
    other.driver(0).set_gid(0, gid, DINGO_VLAN_NONE, kForeign);
    const dingo_cqe cqe = other.complete(other.write(0, 0, 8));
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_GID);
}

TEST_P(GidDomains, WithoutTheCapabilityTheyAreRefused) {
    EngineConfig config;
    config.withheld = DINGO_CAP_GID_DOMAINS;
    test::OneCard card(engine(), config);
    card.driver.start();
    dingo_cmd_set_gid gid{};
    gid.valid = 1;
    gid.mac[0] = 2;
    gid.gid[0] = 0xfd;
    EXPECT_EQ(card.driver.execute(DINGO_OP_SET_GID, gid).status, DINGO_ST_OK);
    for (const std::uint16_t domain : {0x0001, 0x8000}) {
        gid.domain = domain;
        const auto refused = card.driver.execute(DINGO_OP_SET_GID, gid);
        EXPECT_EQ(refused.status, DINGO_ST_BAD_FIELD);
        EXPECT_EQ(refused.detail, offsetof(dingo_cmd_set_gid, domain));
        const test::Cq cq = card.driver.create_cq();
        test::QpOptions options;
        EXPECT_NO_THROW(card.driver.create_qp(cq, cq, options));
        options.domain = domain;
        try {
            card.driver.create_qp(cq, cq, options);
            ADD_FAILURE() << "was accepted";
        } catch (const test::AdminError& error) {
            EXPECT_EQ(error.status, DINGO_ST_BAD_FIELD);
            EXPECT_EQ(error.detail, offsetof(dingo_cmd_create_qp, domain));
        }
    }
}

}  // namespace dingo::conformance
