// SPDX-License-Identifier: BSD-2-Clause
//
// Work requests on keys: REG_MR, LOCAL_INV, SEND_INV, BIND_MW, and their order with messages.
#include "fixture.h"

namespace dingo::test {
namespace {

class LocalOperations : public Connected {
  protected:
    Mr fast;
    std::uint64_t page_list = 0;

    void start() {
        TwoCards::ConnectOptions options;
        options.qp.flags = DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
        connect(options);
        fast = driver(0).create_key(DINGO_MRT_FRWR, 16 * 4096);
        page_list = cards.host(0).alloc(4096);
    }
    SendWr reg(std::uint32_t key, std::uint32_t access = kAllAccess & ~DINGO_ACC_MW_BIND) {
        const auto pages = cards.host(0).alloc_pages(4);
        for (unsigned i = 0; i < 4; ++i)
            cards.host(0).store<std::uint64_t>(page_list + i * 8, pages[i]);
        fast.bus = pages[0];
        SendWr wr;
        wr.opcode = DINGO_WR_REG_MR;
        wr.reg.iova = 0x10000;
        wr.reg.length = 4 * 4096;
        wr.reg.pbl_addr = page_list;
        wr.reg.key = key;
        wr.reg.access = access;
        wr.reg.page_shift = 12;
        return wr;
    }
    SendWr local_inv(std::uint32_t key) {
        SendWr wr;
        wr.opcode = DINGO_WR_LOCAL_INV;
        wr.imm = key;
        return wr;
    }
    SendWr bind(std::uint32_t window, std::uint32_t new_key, std::uint64_t addr,
                std::uint64_t length) {
        SendWr wr;
        wr.opcode = DINGO_WR_BIND_MW;
        wr.bind.addr = addr;
        wr.bind.length = length;
        wr.bind.mr_key = mr[0].key;
        wr.bind.mw_key = window;
        wr.bind.new_key = new_key;
        wr.bind.access = DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ;
        return wr;
    }
};

TEST_F(LocalOperations, NopCompletesInOrder) {
    start();
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 10'000), false);
    SendWr nop;
    nop.opcode = DINGO_WR_NOP;
    const std::uint32_t index = driver(0).post_send(qp(0), nop);
    EXPECT_EQ(cqe_opcode(wait(0)), DINGO_WR_READ);
    const dingo_cqe cqe = wait(0);
    EXPECT_EQ(cqe_opcode(cqe), DINGO_WR_NOP);
    EXPECT_EQ(cqe.wqe_index, index);
}

TEST_F(LocalOperations, InvalidationWaitsForTheMessagesBeforeIt) {
    start();
    const std::uint32_t key = fast.key ^ 0x11;
    run(reg(key));
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 4 * 4096);
    wr.sges[0].addr = 0x10000;
    wr.sges[0].lkey = key;
    bool lost = false;
    cards.link.hook = [&](Frame& frame) {  // one loss, so that the message is read again
        const bool drop = !lost && frame.from == 0;
        lost = lost || drop;
        return !drop;
    };
    driver(0).post_send(qp(0), wr, false);
    driver(0).post_send(qp(0), local_inv(key));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(lost);
}

// A READ response in flight contains what memory held before.
TEST_F(LocalOperations, WhatIsReferredToIsTakenBeforeAnInvalidationIsTold) {
    start();
    const std::uint32_t key = fast.key ^ 0x11;
    run(reg(key));
    const std::uint64_t before = cards.card(0).wire.gathers;
    run(local_inv(key));
    EXPECT_GT(cards.card(0).wire.gathers, before);
}

TEST_F(LocalOperations, FailuresStopTheQp) {
    start();
    const auto bad = [&](const SendWr& wr) {
        driver(0).post_send(qp(0), wr);
        const dingo_cqe cqe = wait(0);
        EXPECT_STREQ(status_name(cqe.status), "MW_BIND_ERR");
        EXPECT_NE(cqe.vendor_err, DINGO_VERR_NONE);
        EXPECT_EQ(state(0), DINGO_QPS_ERR);
    };
    bad(local_inv(0x12345678));
}

TEST_F(LocalOperations, EveryPageSizeOfTheContractIsTaken) {
    start();
    std::uint32_t key = fast.key;
    for (const int shift : {12, 13, 21, 30}) {
        SendWr wr = reg(++key);
        wr.reg.page_shift = static_cast<std::uint8_t>(shift);
        run(wr);
        run(local_inv(key));
    }
    for (const int shift : {11, 31}) {
        SCOPED_TRACE(shift);
        TwoCards::ConnectOptions options;
        options.qp.flags = DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
        link = cards.connect(options);
        SendWr wr = reg(++key);
        wr.reg.page_shift = static_cast<std::uint8_t>(shift);
        expect_error(wr, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_RESERVED);
    }
}

}  // namespace
}  // namespace dingo::test
