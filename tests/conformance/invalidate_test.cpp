// SPDX-License-Identifier: BSD-2-Clause
//
// SEND with invalidate: the key is invalid before the receiver sees the completion.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Invalidate);

TEST_P(Invalidate, RemoteInvalidateOfAFastRegistration) {
    PairOptions options;
    options.connect.qp.flags = DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
    Pair pair(engine(), options);
    NEEDS(pair.driver(1), FRWR);
    NEEDS(pair.driver(1), SEND_INV);
    const test::Mr region = pair.driver(1).create_key(DINGO_MRT_FRWR, 4 << 12);
    test::SendWr reg;
    reg.opcode = DINGO_WR_REG_MR;
    reg.reg.iova = 0x5000;
    reg.reg.length = 8192;
    reg.reg.pbl_addr = pair.driver(1).page_list(pair.cards.host(1).alloc_pages(4), 1, 12).addr;
    reg.reg.key = region.key;
    reg.reg.access = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE;
    reg.reg.page_shift = 12;
    pair.driver(1).post_send(pair.qp(1), reg);
    ASSERT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);

    test::SendWr wr = pair.write(0, 0, 64);
    wr.raddr = 0x5000;
    wr.rkey = region.key;
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    pair.post_recv(1, 0, 64);
    test::SendWr invalidate = pair.send(0, 16);
    invalidate.opcode = DINGO_WR_SEND_INV;
    invalidate.imm = region.key;
    EXPECT_EQ(pair.complete(invalidate).status, DINGO_WCS_SUCCESS);
    const dingo_cqe cqe = pair.wait(1);
    EXPECT_EQ(test::cqe_opcode(cqe), DINGO_WC_RECV_INV);
    EXPECT_EQ(cqe.imm, region.key);
    EXPECT_NE(cqe.flags & DINGO_CQE_FLAGS_INV_MASK, 0);
    EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_P(Invalidate, LocalInvalidateOfAnOrdinaryRegionIsRefused) {
    Pair pair(engine());
    NEEDS(pair.driver(0), SEND_INV);
    test::SendWr wr;
    wr.opcode = DINGO_WR_LOCAL_INV;
    wr.imm = pair.mr[0].key;
    EXPECT_NE(pair.complete(wr).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.state(0), DINGO_QPS_ERR);
}

}  // namespace dingo::conformance
