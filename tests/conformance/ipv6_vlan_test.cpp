// SPDX-License-Identifier: BSD-2-Clause
//
// IPv6 and VLAN connections between two cards.
#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Ipv6Vlan);

TEST_P(Ipv6Vlan, Ipv6CarriesEveryOperation) {
    PairOptions options;
    options.connect.gid_index = 1;
    options.connect.path.flow_label = 0x12345;
    Pair pair(engine(), options);
    FrameLog log(pair.cards);
    pair.fill(0, 0, 9000, 1);
    pair.post_recv(1, 20'000, 9000);
    pair.post(pair.write(0, 0, 9000));
    pair.post(pair.send(0, 9000));
    pair.post(pair.read(50'000, 0, 9000));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, 9000));
    EXPECT_TRUE(pair.same(0, 20'000, 9000));
    EXPECT_TRUE(pair.same(50'000, 0, 9000));
    for (const std::string& line : log.lines()) {
        EXPECT_NE(line.find("src=fd77::"), std::string::npos) << line;
        EXPECT_NE(line.find("flow=0x12345"), std::string::npos) << line;
    }
}

TEST_P(Ipv6Vlan, VlanTagIsThatOfTheGidEntry) {
    test::TwoCards cards(engine(), engine());
    for (unsigned i = 0; i < 2; ++i) {
        const std::uint8_t gid[16] = {
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 9, static_cast<std::uint8_t>(1 + i)};
        cards.driver(i).set_gid(5, gid, 77);
    }
    FrameLog log(cards);
    std::array<test::Cq, 2> cq = {cards.driver(0).create_cq(), cards.driver(1).create_cq()};
    std::array<test::TestQp, 2> qp = {cards.driver(0).create_qp(cq[0], cq[0]),
                                      cards.driver(1).create_qp(cq[1], cq[1])};
    for (unsigned i = 0; i < 2; ++i) {
        auto path = cards.path_to(1 - i, qp[1 - i].qpn);
        path.sgid_index = 5;
        path.dgid[14] = 9;
        path.sl = 4;
        cards.driver(i).bring_up(qp[i], path);
    }
    test::SendWr wr;
    wr.force_inline = true;
    wr.inline_data.resize(64);
    cards.driver(1).post_recv(qp[1], 1, {});
    wr.opcode = DINGO_WR_WRITE;
    wr.inline_data.clear();
    cards.driver(0).post_send(qp[0], wr);
    EXPECT_EQ(cards.wait_cq(0, cq[0]).status, DINGO_WCS_SUCCESS);
    ASSERT_EQ(log.lines().size(), 2u);
    for (const std::string& line : log.lines())
        EXPECT_NE(line.find("vlan=0x804d"), std::string::npos) << line;  // priority 4, VLAN 77
}

TEST_P(Ipv6Vlan, RemovedGidStopsTheConnection) {
    Pair pair(engine(), PairOptions().timeout(8, 1));
    EXPECT_EQ(pair.complete(pair.write(0, 0, 8)).status, DINGO_WCS_SUCCESS);
    dingo_cmd_set_gid cmd{};
    cmd.index = 0;
    cmd.vlan = DINGO_VLAN_NONE;
    ASSERT_EQ(pair.driver(0).execute(DINGO_OP_SET_GID, cmd).status, DINGO_ST_OK);
    const dingo_cqe cqe = pair.complete(pair.write(0, 0, 8));
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_GID);
}

}  // namespace dingo::conformance
