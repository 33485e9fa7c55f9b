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
    /// Card 1 writes 8 bytes through a key of card 0.
    dingo_cqe write_from_peer(std::uint64_t va, std::uint32_t key) {
        SendWr wr;
        wr.opcode = DINGO_WR_WRITE;
        wr.raddr = va;
        wr.rkey = key;
        wr.sges = {mr[1].sge(0, 8)};
        driver(1).post_send(qp(1), wr);
        return wait(1);
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

TEST_F(LocalOperations, FastRegistrationOpensAndInvalidationCloses) {
    start();
    const std::uint32_t key = fast.key ^ 0x11;
    run(reg(key));
    EXPECT_EQ(write_from_peer(0x10000, key).status, DINGO_WCS_SUCCESS);
    run(local_inv(key));
    EXPECT_EQ(write_from_peer(0x10000, key).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_F(LocalOperations, InvalidationWaitsForTheMessagesBeforeIt) {
    start();
    const std::uint32_t key = fast.key ^ 0x11;
    run(reg(key));
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 4 * 4096);
    wr.sges[0].addr = 0x10000;
    wr.sges[0].lkey = key;
    bool lost = false;
    cards.link.hook = [&](Frame& frame) {  // one loss: the message is read a second time
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

TEST_F(LocalOperations, SendWithInvalidate) {
    start();
    const std::uint32_t key = fast.key ^ 0x11;
    run(reg(key));
    driver(0).post_recv(qp(0), 4, {mr[0].sge(0, 100)});
    SendWr wr;
    wr.opcode = DINGO_WR_SEND_INV;
    wr.imm = key;
    wr.sges = {mr[1].sge(0, 50)};
    driver(1).post_send(qp(1), wr);
    EXPECT_EQ(wait(1).status, DINGO_WCS_SUCCESS);
    const dingo_cqe cqe = wait(0);
    EXPECT_EQ(cqe_opcode(cqe), DINGO_WC_RECV_INV);
    EXPECT_EQ(cqe.flags, DINGO_CQE_FLAGS_INV_MASK);
    EXPECT_EQ(cqe.imm, key);
    EXPECT_EQ(write_from_peer(0x10000, key).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_F(LocalOperations, SendWithInvalidateOfANonKey) {
    start();
    driver(0).post_recv(qp(0), 4, {mr[0].sge(0, 100)});
    SendWr wr;
    wr.opcode = DINGO_WR_SEND_INV;
    wr.imm = mr[0].key;  // an ordinary region cannot be invalidated from outside
    wr.sges = {mr[1].sge(0, 50)};
    driver(1).post_send(qp(1), wr);
    EXPECT_EQ(wait(1).status, DINGO_WCS_REM_ACCESS_ERR);
    EXPECT_EQ(wait(0).status, DINGO_WCS_LOC_ACCESS_ERR);
    EXPECT_EQ(write_from_peer(mr[0].iova, mr[0].key).status, DINGO_WCS_WR_FLUSH_ERR);
}

TEST_F(LocalOperations, WindowOpensAPartOfARegion) {
    start();
    const Mr window = driver(0).create_key(DINGO_MRT_MW2);
    const std::uint32_t key = window.key ^ 0x22;
    run(bind(window.key, key, mr[0].iova + 4096, 4096));
    EXPECT_EQ(write_from_peer(mr[0].iova + 4096, key).status, DINGO_WCS_SUCCESS);
    run(local_inv(key));
    EXPECT_EQ(write_from_peer(mr[0].iova + 4096, key).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_F(LocalOperations, OutsideTheWindowIsRefused) {
    start();
    const Mr window = driver(0).create_key(DINGO_MRT_MW2);
    const std::uint32_t key = window.key ^ 0x22;
    run(bind(window.key, key, mr[0].iova + 4096, 4096));
    EXPECT_EQ(write_from_peer(mr[0].iova + 8192 - 7, key).status, DINGO_WCS_REM_ACCESS_ERR);
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

TEST_F(LocalOperations, BindBeyondTheRegionFails) {
    start();
    const Mr window = driver(0).create_key(DINGO_MRT_MW2);
    driver(0).post_send(qp(0), bind(window.key, window.key ^ 1, mr[0].iova + kRegion - 10, 11));
    EXPECT_STREQ(status_name(wait(0).status), "MW_BIND_ERR");
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
