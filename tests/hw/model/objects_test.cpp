// SPDX-License-Identifier: BSD-2-Clause
//
// QPs and SRQs as objects: doorbells, limits, and what remains after they are destroyed.
#include <gtest/gtest.h>

#include "two_cards.h"

namespace dingo::test {
namespace {

class Objects : public testing::Test {
  protected:
    Objects() {
        d.start();
        d.enable_port();
        d.set_ipv4(0, 0x0a4d0001);
        cq = d.create_cq();
        while (d.poll_eq(d.async_eq)) {
        }
        d.ring_eq(d.async_eq);
    }
    TestQp ready_qp(const QpOptions& options = {}) {
        TestQp qp = d.create_qp(cq, cq, options);
        TestDriver::PathOptions path;
        path.dgid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 9};
        path.dmac = {2, 0, 0, 0, 0, 9};
        d.bring_up(qp, path);
        return qp;
    }
    void drain_event(const TestQp& qp) {
        dingo_cmd_modify_qp cmd{};
        cmd.next_state = DINGO_QPS_SQD;
        cmd.attr.sqd_notify = 1;
        d.modify(qp, DINGO_QPM_STATE | DINGO_QPM_EN_SQD_ASYNC_NOTIFY, cmd);
        card.settle();
    }
    std::uint64_t dropped() { return d.card_stat(DINGO_CARD_DB_DROPPED); }

    OneCard card;
    TestDriver& d = card.driver;
    Cq cq;
};

TEST_F(Objects, ReceiveDoorbellBeyondTheRingOrBackwardsIsDropped) {
    TestQp qp = ready_qp();
    const Mr mr = d.create_mr(4096, DINGO_ACC_LOCAL_WRITE);
    d.post_recv(qp, 1, {mr.sge(0, 64)});
    d.post_recv(qp, 2, {mr.sge(0, 64)});
    const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_RQ) | qp.qpn;
    const std::uint64_t before = dropped();
    for (const std::uint32_t index : {(1u << qp.log_rq) + 1, 1u, 0xFFFF'FFFFu, 1u << 31}) {
        d.doorbell(qp.db_page, word0, index);
        EXPECT_EQ(d.query_qp(qp.qpn).rq_producer, 2u) << index;
    }
    EXPECT_EQ(dropped(), before + 4);
    d.doorbell(qp.db_page, word0, 1u << qp.log_rq);  // exactly full
    EXPECT_EQ(d.query_qp(qp.qpn).rq_producer, 1u << qp.log_rq);
}

TEST_F(Objects, SendDoorbellBackwardsIsDropped) {
    TestQp qp = ready_qp();
    SendWr nop;
    nop.opcode = DINGO_WR_NOP;
    for (unsigned i = 0; i < 40; ++i)
        d.post_send(qp, nop);
    card.settle();
    ASSERT_EQ(d.query_qp(qp.qpn).sq_consumer, 40u);
    d.to_state(qp, DINGO_QPS_SQD);
    for (unsigned i = 0; i < 10; ++i)
        d.post_send(qp, nop);
    const std::uint32_t word0 = DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_SQ) | qp.qpn;
    const std::uint64_t before = dropped();
    for (const std::uint32_t index : {49u, 45u, 40u, 39u, 0u}) {
        d.doorbell(qp.db_page, word0, index);
        EXPECT_EQ(d.query_qp(qp.qpn).sq_producer, 50u) << index;
    }
    EXPECT_EQ(dropped(), before + 5);
    d.doorbell(qp.db_page, word0, 40 + (1u << qp.log_sq));  // exactly full
    EXPECT_EQ(d.query_qp(qp.qpn).sq_producer, 40 + (1u << qp.log_sq));
}

TEST_F(Objects, ADoorbellThatIsRungTwiceIsNoError) {
    TestQp qp = ready_qp();
    Srq srq = d.create_srq();
    EthRing tx = d.create_eth(DINGO_ETH_TX, 0, cq);
    EthRing rx = d.create_eth(DINGO_ETH_RX, 0, cq);
    const Mr mr = d.create_mr(4096, DINGO_ACC_LOCAL_WRITE);
    d.to_state(qp, DINGO_QPS_SQD);
    d.post_send(qp, SendWr{});
    d.post_recv(qp, 1, {mr.sge(0, 64)});
    d.post_recv(srq, 1, {mr.sge(0, 64)});
    d.post_eth(tx, mr.bus, 64);
    d.post_eth(rx, mr.bus, 64);
    const std::uint64_t before = dropped();
    const auto again = [&](std::uint32_t page, std::uint32_t type, std::uint32_t id) {
        d.doorbell(page, DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) | id, 1);
    };
    again(qp.db_page, DINGO_DB_SQ, qp.qpn);
    again(qp.db_page, DINGO_DB_RQ, qp.qpn);
    again(srq.db_page, DINGO_DB_SRQ, srq.srqn);
    d.ring_eth(tx);
    d.ring_eth(rx);
    EXPECT_EQ(dropped(), before);
}

TEST_F(Objects, DoorbellsNeedTheirPageTheTagAndAnExistingObject) {
    const TestQp qp = ready_qp();
    const Srq srq = d.create_srq();
    const auto word0 = [](std::uint32_t type, std::uint32_t object) {
        return DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) | object;
    };
    std::uint64_t expected = dropped();
    const auto refused = [&](std::uint32_t page, std::uint32_t word, const char* why) {
        d.doorbell(page, word, 1);
        EXPECT_EQ(dropped(), ++expected) << why;
    };
    refused(2, word0(DINGO_DB_SQ, qp.qpn), "SQ, page");
    refused(2, word0(DINGO_DB_RQ, qp.qpn), "RQ, page");
    refused(2, word0(DINGO_DB_SRQ, srq.srqn), "SRQ, page");
    refused(1, word0(DINGO_DB_SQ, qp.qpn ^ 1 << 20), "tag");
    refused(1, word0(DINGO_DB_SRQ, srq.srqn + 1), "no such SRQ");
    refused(1, word0(DINGO_DB_EQ, 1), "EQ from a user's page");
    refused(1, word0(0, 0), "type 0");
    refused(1, word0(15, 0), "type 15");
    refused(1, word0(DINGO_DB_RQ, qp.qpn) | 1u << 28, "a bit that RQ does not have");
    refused(1, word0(DINGO_DB_CQ, cq.cqn) | 1u << 31, "bit 31");
    for (const std::uint64_t offset : {0ull, 8ull, 64ull, 120ull}) {  // slots reserved for the card
        card.engine->mmio_write(Bar::kDoorbells, DINGO_DB_PAGE_SIZE + offset,
                                1ull << 32 | word0(DINGO_DB_RQ, qp.qpn), 8);
        EXPECT_EQ(dropped(), ++expected) << offset;
    }
    card.engine->mmio_write(Bar::kDoorbells, DINGO_DB_PAGE_SIZE + 128, 0, 4);
    EXPECT_EQ(dropped(), ++expected) << "not 8 bytes";
    const std::uint64_t pages =
        std::uint64_t{d.read32(DINGO_REG_DB_PAGES)} + d.read32(DINGO_REG_PUSH_PAGES);
    card.engine->mmio_write(Bar::kDoorbells, pages * DINGO_DB_PAGE_SIZE + 128, 0, 8);
    EXPECT_EQ(dropped(), ++expected) << "behind the last page";
    EXPECT_EQ(d.query_qp(qp.qpn).rq_producer, 0u);
    card.engine->mmio_write(Bar::kDoorbells, DINGO_DB_PAGE_SIZE + 4088,
                            1ull << 32 | word0(DINGO_DB_RQ, qp.qpn), 8);  // any other slot
    EXPECT_EQ(d.query_qp(qp.qpn).rq_producer, 1u);
}

TEST_F(Objects, AdminDoorbellBackwardsIsDropped) {
    for (int i = 0; i < 3; ++i) {
        const dingo_admin_hdr header{};
        d.submit_raw(std::as_bytes(std::span(&header, 1)));
    }
    d.ring_admin();
    // Commands were executed before, by start() and others; one less than rung is backwards.
    const std::uint64_t before = card.host.dma_reads;
    const std::uint32_t rung = d.admin_producer();
    d.write32(DINGO_REG_ASQ_DB, rung - 1);
    card.settle();
    int done = 0;
    while (d.poll_admin()) {
        ++done;
    }
    EXPECT_EQ(done, 3);
    EXPECT_GT(card.host.dma_reads, before);
    EXPECT_EQ(d.card_stat(DINGO_CARD_MMIO_DROPPED), 1u);
}

TEST_F(Objects, SrqLimitFiresOnceAndAtOnceWhenArmedTooLate) {
    Srq srq = d.create_srq(4, 6, 1, 0);
    const Mr mr = d.create_mr(4096, DINGO_ACC_LOCAL_WRITE);
    for (std::uint32_t i = 0; i < 5; ++i) {
        d.post_recv(srq, i, {mr.sge(0, 64)});
    }
    const auto query = [&] {
        const auto completion = d.destroy(DINGO_OP_QUERY_SRQ, srq.srqn);
        return std::pair<std::uint64_t, std::uint64_t>(completion.result[0], completion.result[1]);
    };
    EXPECT_EQ(query(), std::pair(std::uint64_t{0}, std::uint64_t{5}));
    dingo_cmd_modify_srq cmd{};
    cmd.srqn = srq.srqn;
    cmd.limit = 5;
    d.execute_ok(DINGO_OP_MODIFY_SRQ, cmd);
    EXPECT_EQ(query(), std::pair(std::uint64_t{5}, std::uint64_t{5}));
    EXPECT_FALSE(d.poll_eq(d.async_eq));
    cmd.limit = 6;
    d.execute_ok(DINGO_OP_MODIFY_SRQ, cmd);
    const auto event = d.poll_eq(d.async_eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_SRQ_LIMIT);
    EXPECT_EQ(event->id, srq.srqn);
    EXPECT_EQ(query(), std::pair(std::uint64_t{0}, std::uint64_t{5}));
    EXPECT_FALSE(d.poll_eq(d.async_eq));
}

TEST_F(Objects, EventsThatWaitForRoomDieWithTheirQueuePair) {
    ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_EQ, 0).status, DINGO_ST_OK + 0u);
    Eq eq = d.create_eq(9, 0, 0, DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK);
    const TestQp first = ready_qp();
    const TestQp second = ready_qp();
    const TestQp third = ready_qp();
    drain_event(first);  // takes the only entry
    drain_event(second);
    drain_event(third);
    ASSERT_EQ(d.destroy(DINGO_OP_DESTROY_QP, second.qpn).status, DINGO_ST_OK + 0u);
    auto event = d.poll_eq(eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, DINGO_EV_SQ_DRAINED);
    EXPECT_EQ(event->id, first.qpn);
    d.ring_eq(eq);
    event = d.poll_eq(eq);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->id, third.qpn);
    d.ring_eq(eq);
    EXPECT_FALSE(d.poll_eq(eq));
}

TEST_F(Objects, RegionWithBoundWindowsIsBusy) {
    TestQp qp = ready_qp();
    const Mr mr = d.create_mr(8192, DINGO_ACC_LOCAL_WRITE | DINGO_ACC_MW_BIND);
    for (const std::uint8_t kind : {DINGO_MRT_MW1, DINGO_MRT_MW2}) {
        const Mr window = d.create_key(kind);
        SendWr wr;
        wr.opcode = DINGO_WR_BIND_MW;
        wr.bind.addr = mr.iova;
        wr.bind.length = 4096;
        wr.bind.mr_key = mr.key;
        wr.bind.mw_key = window.key;
        wr.bind.new_key = window.key ^ 1;
        wr.bind.access = DINGO_ACC_REMOTE_READ;
        d.post_send(qp, wr);
        card.settle();
        const auto entry = d.poll_cq(cq);
        ASSERT_TRUE(entry);
        ASSERT_EQ(entry->status, DINGO_WCS_SUCCESS) << status_name(entry->status);
        EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_MR, mr.key).status, DINGO_ST_BUSY + 0u);
        dingo_cmd_create_mr cmd{};
        cmd.key = cmd.old_key = mr.key;
        cmd.pdn = 1;
        cmd.mem.addr = mr.bus;
        cmd.length = 4096;
        EXPECT_EQ(d.execute(DINGO_OP_REREG_MR, cmd).status, DINGO_ST_BUSY + 0u);
        // The driver knows its key: the low 8 bits are not compared, all others are.
        EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_MR, window.key ^ 1 << 8).status, DINGO_ST_BAD_ID + 0u);
        EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_MR, window.key).status, DINGO_ST_OK + 0u);
    }
    EXPECT_EQ(d.destroy(DINGO_OP_DESTROY_MR, mr.key).status, DINGO_ST_OK + 0u);
}

}  // namespace
}  // namespace dingo::test
