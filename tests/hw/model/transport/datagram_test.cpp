// SPDX-License-Identifier: BSD-2-Clause
//
// UD and GSI: address vectors, GRH, Q_Keys, what is dropped, what stops the send queue.
#include <algorithm>
#include <array>

#include "fixture.h"

namespace dingo::test {
namespace {

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kGrh = 40;

class Datagram : public Connected {
  protected:
    void start(std::uint8_t kind = DINGO_QPT_UD) {
        for (unsigned i = 0; i < 2; ++i) {
            link.cq[i] = driver(i).create_cq();
            QpOptions options;
            options.kind = kind;
            options.qpn = kind == DINGO_QPT_GSI ? DINGO_QPN_GSI : 0;
            link.qp[i] = driver(i).create_qp(link.cq[i], link.cq[i], options);
            TestDriver::PathOptions path;
            path.qkey = kQkey;
            driver(i).bring_up(qp(i), path);
            mr[i] = driver(i).create_mr(kRegion, kAllAccess);
        }
    }
    SendWr datagram(std::uint32_t bytes, unsigned gid_index = 0) {
        SendWr wr;
        wr.sges = {mr[0].sge(0, bytes)};
        wr.ud = cards.ud_to(1, qp(1).qpn, kQkey, gid_index);
        return wr;
    }
    void receive(std::uint32_t tag, std::uint32_t bytes = 8192) {
        driver(1).post_recv(qp(1), tag, {mr[1].sge(0, bytes)});
    }
};

TEST_F(Datagram, CarriesTheNetworkHeaderInFrontOfThePayload) {
    start();
    fill(0, 0, 1000);
    for (const unsigned gid_index : {0U, 1U}) {
        SCOPED_TRACE(gid_index);
        receive(7);
        SendWr wr = datagram(1000, gid_index);
        wr.opcode = DINGO_WR_SEND_IMM;
        wr.imm = 0x12345678;
        wr.ud.tclass = 0x20;
        run(wr);
        const dingo_cqe cqe = wait(1);
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(cqe.byte_len, kGrh + 1000);
        EXPECT_EQ(__builtin_bswap32(cqe.imm), 0x12345678U);
        EXPECT_EQ(DINGO_GET(DINGO_CQE_SRC_QPN_QPN_MASK, cqe.src_qpn), qp(0).qpn);
        EXPECT_EQ(DINGO_GET(DINGO_CQE_SRC_QPN_SL_MASK, cqe.src_qpn), 0U) << "no VLAN, no priority";
        EXPECT_TRUE(cqe.flags & DINGO_CQE_FLAGS_GRH_MASK);
        EXPECT_EQ((cqe.flags & DINGO_CQE_FLAGS_IPV4_MASK) != 0, gid_index == 0);
        EXPECT_TRUE(same(0, kGrh, 1000));
        const auto grh = memory(1, 0, kGrh);
        if (gid_index == 0) {
            for (unsigned i = 0; i < 20; ++i)
                EXPECT_EQ(grh[i], std::byte{0});
            const packet::Ipv4Header ip = packet::Ipv4Header::load(grh.data() + 20);
            EXPECT_EQ(ip.version_ihl, 0x45);
            EXPECT_EQ(ip.src, 0x0a4d0001U);
            EXPECT_EQ(ip.dst, 0x0a4d0002U);
            EXPECT_EQ(ip.tos, 0x20);
        } else {
            const packet::Ipv6Header ip = packet::Ipv6Header::load(grh.data());
            EXPECT_EQ(to_string(ip.src), "fd77::1");
            EXPECT_EQ(to_string(ip.dst), "fd77::2");
            EXPECT_EQ(ip.traffic_class, 0x20);
        }
    }
}

TEST_F(Datagram, AllSizesUpToThePortMtu) {
    start();
    for (const std::uint32_t size : {0U, 1U, 3U, 256U, 4095U, 4096U}) {
        receive(size);
        fill(0, 0, size, size);
        run(datagram(size));
        EXPECT_EQ(wait(1).byte_len, kGrh + size);
        EXPECT_TRUE(same(0, kGrh, size));
    }
    expect_error(datagram(4097), DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG);
    driver(0).to_state(qp(0), DINGO_QPS_RTS);
    driver(0).enable_port(1500);
    expect_error(datagram(1025), DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG);
    driver(0).to_state(qp(0), DINGO_QPS_RTS);
    driver(0).enable_port(1024 + 96);
    run(datagram(1024));
    driver(0).enable_port(1024 + 95);
    expect_error(datagram(513), DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_MSG_TOO_LONG);
}

TEST_F(Datagram, VlanAndPriority) {
    start();
    for (unsigned i = 0; i < 2; ++i) {
        const std::uint8_t gid[16] = {
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, static_cast<std::uint8_t>(1 + i)};
        driver(i).set_gid(0, gid, 42);
    }
    receive(1);
    SendWr wr = datagram(8);
    wr.ud.sl = 3;
    run(wr);
    const dingo_cqe cqe = wait(1);
    EXPECT_TRUE(cqe.flags & DINGO_CQE_FLAGS_VLAN_MASK);
    EXPECT_EQ(cqe.vlan, 3 << 13 | 42);
    EXPECT_EQ(DINGO_GET(DINGO_CQE_SRC_QPN_SL_MASK, cqe.src_qpn), 3U);
}

TEST_F(Datagram, WorkPostedBeforeTheReturnFromSqeIsFlushed) {
    start();
    SendWr bad = datagram(8);
    bad.sges[0].lkey ^= 1;
    driver(0).post_send(qp(0), bad);
    EXPECT_EQ(wait(0).status, DINGO_WCS_LOC_PROT_ERR);
    for (int i = 0; i < 20; ++i) {
        driver(0).post_send(qp(0), datagram(8));
    }
    driver(0).to_state(qp(0), DINGO_QPS_RTS);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(wait(0).status, DINGO_WCS_WR_FLUSH_ERR);
    }
    run(datagram(8));
}

TEST_F(Datagram, FieldsOfTheAddressVectorAreChecked) {
    start();
    struct Case {
        const char* what;
        SendWr wr;
        std::uint8_t vendor_err;
    };
    std::vector<Case> cases;
    const auto add = [&](const char* what, std::uint8_t vendor_err, auto change) {
        SendWr wr = datagram(8);
        change(wr);
        cases.push_back({what, wr, vendor_err});
    };
    add("qpn", DINGO_VERR_WQE_RESERVED, [](SendWr& wr) { wr.ud.dest_qpn = 1 << 24; });
    add("flow label", DINGO_VERR_WQE_RESERVED, [](SendWr& wr) { wr.ud.flow_label = 1 << 20; });
    add("rsvd", DINGO_VERR_WQE_RESERVED, [](SendWr& wr) { wr.ud.rsvd1 = 1; });
    add("pkey index", DINGO_VERR_WQE_RESERVED, [](SendWr& wr) { wr.ud.pkey_index = 1; });
    add("gid", DINGO_VERR_GID, [](SendWr& wr) { wr.ud.sgid_index = 77; });
    add("gid", DINGO_VERR_GID, [](SendWr& wr) { wr.ud.sgid_index = 0xFFFF; });
    add("opcode", DINGO_VERR_WQE_OPCODE, [](SendWr& wr) { wr.opcode = DINGO_WR_WRITE; });
    for (const Case& c : cases) {
        SCOPED_TRACE(c.what);
        expect_error(c.wr, DINGO_WCS_LOC_QP_OP_ERR, c.vendor_err);
        EXPECT_EQ(state(0), DINGO_QPS_SQE);
        driver(0).to_state(qp(0), DINGO_QPS_RTS);
    }
}

TEST_F(Datagram, TheLargestFlowLabelIsSent) {
    start();
    receive(1);
    SendWr wr = datagram(8, 1);
    wr.ud.flow_label = 0xFFFFF;
    run(wr);
    wait(1);
    EXPECT_EQ(packet::Ipv6Header::load(memory(1, 0, kGrh).data()).flow_label, 0xFFFFFU);
}

// Only a datagram to the multicast QPN and a group's address reaches a group.
TEST_F(Datagram, ToOneQueuePairAtAGroupsAddressIsNoneOfTheGroup) {
    start();
    const std::array<std::uint8_t, 16> group = {0, 0, 0,    0,    0,   0, 0, 0,
                                                0, 0, 0xff, 0xff, 239, 1, 2, 3};
    ASSERT_EQ(driver(0).multicast(DINGO_OP_ATTACH_MCAST, qp(0).qpn, group).status, DINGO_ST_OK);
    SendWr wr = datagram(8);
    const std::array<std::uint8_t, 6> mac = {1, 0, 0x5e, 1, 2, 3};
    std::ranges::copy(group, wr.ud.dgid);
    std::ranges::copy(mac, wr.ud.dmac);
    run(wr);
    cards.settle();
    EXPECT_EQ(stat(0, DINGO_CARD_RDMA_TX_PACKETS), 1U);
    EXPECT_EQ(stat(0, DINGO_CARD_RDMA_RX_PACKETS), 0U) << "it turned round";
    EXPECT_EQ(stat(0, DINGO_CARD_ETH_RX_FILTERED), 0U) << "it turned round";
}

TEST_F(Datagram, AGroupThatNobodyIsInIsCountedOnceWhateverElseIsWrong) {
    start();
    SendWr wr = datagram(8);
    wr.ud.dest_qpn = DINGO_QPN_MCAST;
    const std::array<std::uint8_t, 16> group = {0, 0, 0,    0,    0,   0, 0, 0,
                                                0, 0, 0xff, 0xff, 239, 1, 2, 3};
    const std::array<std::uint8_t, 6> mac = {1, 0, 0x5e, 1, 2, 3};
    std::ranges::copy(group, wr.ud.dgid);
    std::ranges::copy(mac, wr.ud.dmac);
    auto another = group;
    another[15] ^= 1;
    ASSERT_EQ(driver(1).multicast(DINGO_OP_ATTACH_MCAST, qp(1).qpn, another).status, DINGO_ST_OK);
    const std::uint8_t on_vlan[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
    driver(0).set_gid(0, on_vlan, 42);  // the receiving card has no GID on this VLAN
    run(wr);
    cards.settle();
    EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_MCAST), 1U);
    EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_ADDRESS), 0U);
    EXPECT_EQ(stat(1, DINGO_CARD_BAD_PKEY), 0U);
    EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_BAD_QPN), 0U);
}

TEST_F(Datagram, ALocalOperationCompletesInItsPlaceAndSendsNothing) {
    start();
    SendWr nop;
    nop.opcode = DINGO_WR_NOP;
    driver(0).post_send(qp(0), datagram(8), false);
    driver(0).post_send(qp(0), nop, false);
    driver(0).post_send(qp(0), datagram(8));
    for (const int opcode : {int{DINGO_WR_SEND}, int{DINGO_WR_NOP}, int{DINGO_WR_SEND}}) {
        const dingo_cqe cqe = wait(0);
        EXPECT_EQ(cqe_opcode(cqe), opcode);
        EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
    }
    EXPECT_EQ(qp_stat(0, DINGO_QP_TX_PACKETS), 2U);
    nop.flags = 0;
    driver(0).post_send(qp(0), nop);
    run(datagram(8));
    EXPECT_FALSE(poll(0)) << "who wants no completion has none";
}

}  // namespace
}  // namespace dingo::test
