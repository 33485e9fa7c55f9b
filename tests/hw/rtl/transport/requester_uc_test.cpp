// SPDX-License-Identifier: BSD-2-Clause
//
// UC at the requester: messages complete when their payload has been read, nothing is repeated, and
// errors stop only the send queue.
#include "requester_fixture.h"

namespace dingo::rtl {
namespace {

class RequesterUc : public Requester {
  protected:
    RequesterUc() {
        config.kind = DINGO_QPT_UC;
        config.timeout = 0;  // UC has no timeout
    }
    void write(std::uint32_t length, std::uint8_t opcode = DINGO_WR_WRITE) {
        b.begin(opcode);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(0, length)});
        b.post(kQp);
    }
};

TEST_F(RequesterUc, MessagesLeaveWithTheirOpcodesAndCompleteByThemselves) {
    start();
    send(10);
    send(700);
    write(20);
    write(300, DINGO_WR_WRITE_IMM);
    go();
    std::vector<unsigned> opcodes;
    for (const TestPacket& p : b.packets) {
        opcodes.push_back(p.opcode);
        EXPECT_FALSE(p.ackreq);
    }
    EXPECT_EQ(opcodes, (std::vector<unsigned>{0x24, 0x20, 0x21, 0x22, 0x2a, 0x26, 0x29}));
    for (std::size_t i = 0; i < b.packets.size(); ++i)
        EXPECT_EQ(b.packets[i].psn, psn(static_cast<std::uint32_t>(i)));
    ASSERT_EQ(b.cqes.size(), 4U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    expect_cqe(3, 3, DINGO_WR_WRITE_IMM);
}

/// There are no ACKs: the window opens when a packet's payload has been read.
TEST_F(RequesterUc, AMessageOfMoreThanAWindowLeaves) {
    start();
    write(256 * 600);
    go();
    EXPECT_EQ(b.packets.size(), 600U);
    ASSERT_EQ(b.cqes.size(), 1U);
    expect_cqe(0, 0, DINGO_WR_WRITE);
}

TEST_F(RequesterUc, ReadsAndAtomicsAreRefusedAndStopTheSendQueue) {
    for (const std::uint8_t opcode : {DINGO_WR_READ, DINGO_WR_FETCH_ADD}) {
        b.cqes.clear();
        start();
        b.begin(opcode);
        b.rdma(0xABC000, 0x55);
        b.sges({sge(0, 8)}, opcode == DINGO_WR_READ ? 32 : 48);
        b.post(kQp);
        go();
        expect_cqe(0, 0, opcode, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_OPCODE);
        EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_SQE);
    }
    EXPECT_TRUE(b.packets.empty());
}

TEST_F(RequesterUc, PayloadThatCannotBeReadFailsItsMessageAndStopsTheSendQueue) {
    start();
    b.tell = false;
    send(10);
    send(600);
    send(20);
    go();
    EXPECT_EQ(b.packets.size(), 5U);
    EXPECT_TRUE(b.cqes.empty());
    b.reports.push_back({true, kQp, psn(0)});
    b.reports.push_back({false, kQp, psn(2)});
    b.settle();
    ASSERT_EQ(b.cqes.size(), 3U);
    expect_cqe(0, 0, DINGO_WR_SEND);
    EXPECT_EQ(b.cqes[1].status, DINGO_WCS_LOC_PROT_ERR);
    EXPECT_EQ(b.cqes[1].verr, DINGO_VERR_BUS);
    EXPECT_EQ(b.cqes[2].status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_SQE);
    EXPECT_TRUE(b.fails.empty()) << "what comes is still taken";
    b.tell = true;
    b.modify(kQp, DINGO_QPS_RTS);
    send(30);
    go();
    ASSERT_EQ(b.packets.size(), 6U);
    EXPECT_EQ(b.packets[5].psn, psn(2));
    expect_cqe(3, 3, DINGO_WR_SEND);
}

/// A wire that stands still delays reports until after the command that ends SQE. PSNs have been
/// reused by then; the generation tells that the reports are old.
TEST_F(RequesterUc, LateReportsOfBeforeTheSendQueueErrorSayNothing) {
    start();
    b.tell = false;
    send(10);
    send(10);
    send(10);
    go();
    const unsigned before = b.packets.back().gen;
    b.reports.push_back({false, kQp, psn(0)});
    b.settle();
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_SQE);
    ASSERT_EQ(b.cqes.size(), 3U);
    b.modify(kQp, DINGO_QPS_RTS);
    send(10);
    send(10);
    go();
    EXPECT_EQ(b.packets.back().psn, psn(1));
    b.reports.push_back({true, kQp, psn(1), before});
    b.reports.push_back({false, kQp, psn(0), before});
    b.settle();
    EXPECT_EQ(b.cqes.size(), 3U);
    EXPECT_EQ(b.qps[kQp].state, DINGO_QPS_RTS);
    b.reports.push_back({true, kQp, psn(1)});
    b.settle();
    EXPECT_EQ(b.cqes.size(), 5U);
}

}  // namespace
}  // namespace dingo::rtl
