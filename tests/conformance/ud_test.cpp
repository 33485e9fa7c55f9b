// SPDX-License-Identifier: BSD-2-Clause
//
// Datagrams between two cards, including QP1.
#include "conformance.h"

namespace dingo::conformance {
namespace {

constexpr std::uint32_t kQkey = 0x11111111;

struct Datagrams {
    Datagrams(const std::string& engine, std::uint8_t kind, unsigned gid = 0)
        : cards(engine, engine), gid_index(gid) {
        for (unsigned i = 0; i < 2; ++i) {
            cq[i] = cards.driver(i).create_cq();
            test::QpOptions options;
            options.kind = kind;
            qp[i] = cards.driver(i).create_qp(cq[i], cq[i], options);
            test::TestDriver::PathOptions path;
            path.qkey = kQkey;
            cards.driver(i).bring_up(qp[i], path);
            mr[i] = cards.driver(i).create_mr(1u << 16, kAllAccess);
        }
    }
    test::SendWr send(std::uint32_t length, std::uint32_t qkey = kQkey) {
        test::SendWr wr;
        wr.sges = {mr[0].sge(0, length)};
        wr.ud = cards.ud_to(1, qp[1].qpn, qkey, gid_index);
        return wr;
    }

    test::TwoCards cards;
    std::array<test::Cq, 2> cq;
    std::array<test::TestQp, 2> qp;
    std::array<test::Mr, 2> mr;
    unsigned gid_index;
};

}  // namespace

CONFORMANCE_SUITE(Ud);

TEST_P(Ud, DatagramsOfEverySizeOverBothIpVersions) {
    for (unsigned gid : {0u, 1u}) {
        Datagrams d(engine(), DINGO_QPT_UD, gid);
        NEEDS(d.cards.driver(0), UD);
        for (std::uint32_t size : {0u, 1u, 255u, 4095u, 4096u}) {
            random_bytes(d.cards.host(0).bytes(d.mr[0].bus, size), size);
            d.cards.driver(1).post_recv(d.qp[1], size, {d.mr[1].sge(0, size + 40)});
            d.cards.driver(0).post_send(d.qp[0], d.send(size));
            EXPECT_EQ(d.cards.wait_cq(0, d.cq[0]).status, DINGO_WCS_SUCCESS);
            const dingo_cqe cqe = d.cards.wait_cq(1, d.cq[1]);
            EXPECT_EQ(cqe.byte_len, size + 40);
            EXPECT_EQ(DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK, cqe.src_qpn), d.qp[0].qpn);
            EXPECT_NE(cqe.flags & DINGO_CQE_FLAGS_GRH_MASK, 0);
            EXPECT_EQ((cqe.flags & DINGO_CQE_FLAGS_IPV4_MASK) != 0, gid == 0);
            EXPECT_TRUE(std::ranges::equal(d.cards.host(0).bytes(d.mr[0].bus, size),
                                           d.cards.host(1).bytes(d.mr[1].bus + 40, size)));
        }
    }
}

TEST_P(Ud, GrhHoldsTheSendersAddress) {
    Datagrams d(engine(), DINGO_QPT_UD);
    NEEDS(d.cards.driver(0), UD);
    d.cards.driver(1).post_recv(d.qp[1], 1, {d.mr[1].sge(0, 1000)});
    d.cards.driver(0).post_send(d.qp[0], d.send(100));
    d.cards.wait_cq(1, d.cq[1]);
    const auto grh = d.cards.host(1).bytes(d.mr[1].bus, 40);
    EXPECT_EQ(std::to_integer<int>(grh[20]), 0x45);
    const std::uint8_t addresses[] = {10, 77, 0, 1, 10, 77, 0, 2};
    EXPECT_EQ(std::memcmp(grh.data() + 32, addresses, 8), 0);
}

TEST_P(Ud, WrongQkeyIsDroppedAndCounted) {
    Datagrams d(engine(), DINGO_QPT_UD);
    NEEDS(d.cards.driver(0), UD);
    d.cards.driver(1).post_recv(d.qp[1], 1, {d.mr[1].sge(0, 1000)});
    d.cards.driver(0).post_send(d.qp[0], d.send(100, 0x22222222));
    EXPECT_EQ(d.cards.wait_cq(0, d.cq[0]).status, DINGO_WCS_SUCCESS);
    d.cards.settle();
    EXPECT_FALSE(d.cards.driver(1).poll_cq(d.cq[1]));
    EXPECT_EQ(d.cards.driver(1).card_stat(DINGO_CARD_BAD_QKEY), 1u);
}

TEST_P(Ud, ManagementDatagramsTravelBetweenTheGsiQps) {
    Datagrams d(engine(), DINGO_QPT_GSI);
    NEEDS(d.cards.driver(0), UD);
    EXPECT_EQ(d.qp[0].qpn, DINGO_QPN_GSI);
    d.cards.driver(1).post_recv(d.qp[1], 1, {d.mr[1].sge(0, 1000)});
    random_bytes(d.cards.host(0).bytes(d.mr[0].bus, 256), 1);
    d.cards.driver(0).post_send(d.qp[0], d.send(256));
    EXPECT_EQ(d.cards.wait_cq(1, d.cq[1]).byte_len, 296u);
}

TEST_P(Ud, InlineUpToItsLimit) {
    Datagrams d(engine(), DINGO_QPT_UD);
    NEEDS(d.cards.driver(0), UD);
    d.cards.driver(1).post_recv(d.qp[1], 1, {d.mr[1].sge(0, 1000)});
    test::SendWr wr = d.send(0);
    wr.sges.clear();
    wr.inline_data.resize(DINGO_MAX_INLINE_UD);
    random_bytes(wr.inline_data, 1);
    d.cards.driver(0).post_send(d.qp[0], wr);
    EXPECT_EQ(d.cards.wait_cq(0, d.cq[0]).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(d.cards.wait_cq(1, d.cq[1]).byte_len, DINGO_MAX_INLINE_UD + 40u);
    EXPECT_TRUE(std::ranges::equal(wr.inline_data,
                                   d.cards.host(1).bytes(d.mr[1].bus + 40, DINGO_MAX_INLINE_UD)));
}

}  // namespace dingo::conformance
