// SPDX-License-Identifier: BSD-2-Clause
//
// Errors of every origin, seen from both ends of a connection: statuses, events, states, and the
// flush.
#include <array>
#include <set>

#include "fixture.h"

namespace dingo::test {
namespace {

class ErrorFlow : public Connected {
  protected:
    void expect_flushed(unsigned side, const std::vector<std::uint32_t>& indices) {
        for (const std::uint32_t index : indices) {
            const dingo_cqe cqe = wait(side);
            EXPECT_STREQ(status_name(cqe.status), "WR_FLUSH_ERR");
            EXPECT_EQ(cqe.wqe_index, index);
        }
        cards.settle();
        EXPECT_FALSE(poll(side));
    }
    std::multiset<unsigned> events(unsigned side) {
        std::multiset<unsigned> kinds;
        while (const auto entry = event(side))
            kinds.insert(entry->kind);
        return kinds;
    }
    /// Both QPs are new and connected again.
    void reconnect() {
        cards.settle();
        for (unsigned i = 0; i < 2; ++i) {
            driver(i).to_state(qp(i), DINGO_QPS_RESET);
            qp(i).sq_producer = qp(i).rq_producer = 0;
            while (poll(i)) {
            }
        }
        for (unsigned i = 0; i < 2; ++i) {
            auto path = cards.path_to(1 - i, qp(1 - i).qpn);
            driver(i).to_init(qp(i), path);
            driver(i).to_rtr(qp(i), path);
            driver(i).to_rts(qp(i), path);
        }
    }
};

TEST_F(ErrorFlow, FlushCompletesEverythingOnceAndInOrder) {
    connect();
    for (const std::uint32_t depth : {0U, 1U, 17U, 64U}) {
        SCOPED_TRACE(depth);
        // RTR on the card itself: nothing is sent, so that all are flushed.
        std::vector<std::uint32_t> sends;
        std::vector<std::uint32_t> receives;
        driver(0).to_state(qp(0), DINGO_QPS_SQD);
        for (std::uint32_t i = 0; i < depth; ++i) {
            SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 8);
            wr.flags = i % 2 == 0 ? 0 : DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
            sends.push_back(driver(0).post_send(qp(0), wr));
            driver(0).post_recv(qp(0), 1000 + i, {});
            receives.push_back(1000 + i);
        }
        driver(0).to_state(qp(0), DINGO_QPS_ERR);
        cards.settle();
        std::vector<std::uint32_t> seen_sends;
        std::vector<std::uint32_t> seen_receives;
        while (const auto cqe = poll(0)) {
            EXPECT_STREQ(status_name(cqe->status), "WR_FLUSH_ERR");
            (cqe_opcode(*cqe) == DINGO_WC_RECV ? seen_receives : seen_sends)
                .push_back(cqe->wqe_index);
        }
        EXPECT_EQ(seen_sends, sends);
        EXPECT_EQ(seen_receives, receives);
        // What is posted in ERR is flushed, too.
        expect_flushed(0, {driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 8))});
        driver(0).post_recv(qp(0), 5, {});
        expect_flushed(0, {5});
        const dingo_qp_info info = driver(0).query_qp(qp(0).qpn);
        EXPECT_EQ(info.sq_consumer, info.sq_producer);
        EXPECT_EQ(info.rq_consumer, info.rq_producer);
        reconnect();
    }
}

TEST_F(ErrorFlow, NothingComesAfterDestroy) {
    connect();
    for (int i = 0; i < 10; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 100'000));
    driver(0).destroy(DINGO_OP_DESTROY_QP, qp(0).qpn);
    while (poll(0)) {
    }
    const auto writes = cards.host(0).dma_writes;
    cards.settle();
    EXPECT_FALSE(poll(0));
    EXPECT_EQ(cards.host(0).dma_writes, writes);
}

TEST_F(ErrorFlow, RemoteAccessErrorSeenFromBothSides) {
    connect();
    driver(1).post_recv(qp(1), 9, {mr[1].sge(0, 100)});
    SendWr wr = rdma(DINGO_WR_WRITE, 0, 0, 10'000);
    wr.rkey ^= 1;
    const std::uint32_t second =
        (driver(0).post_send(qp(0), wr, false), driver(0).post_send(qp(0), send_wr(0, 1), false));
    driver(0).ring_sq(qp(0));
    const dingo_cqe cqe = wait(0);
    EXPECT_EQ(cqe.status, DINGO_WCS_REM_ACCESS_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_NAK_ACCESS);
    expect_flushed(0, {second});
    expect_flushed(1, {9});
    EXPECT_EQ(state(0), DINGO_QPS_ERR);
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
    EXPECT_EQ(events(1).count(DINGO_EV_QP_ACCESS_ERR), 1U);
    EXPECT_EQ(events(0).count(DINGO_EV_QP_FATAL), 0U);
}

TEST_F(ErrorFlow, ReceiverNotReadyThenReady) {
    TwoCards::ConnectOptions options;
    options.path.rnr_retry = 3;
    connect(options);
    driver(0).post_send(qp(0), send_wr(0, 5000));
    cards.run_for(100'000);
    EXPECT_FALSE(poll(0));
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 8192)});
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(1).byte_len, 5000U);
    EXPECT_GE(stat(1, DINGO_CARD_RNR_NAK_SENT), 1U);
    EXPECT_EQ(stat(1, DINGO_CARD_RNR_NAK_SENT), stat(0, DINGO_CARD_RNR_NAK_RETRY_ERR));
}

TEST_F(ErrorFlow, ReceiverNeverReady) {
    TwoCards::ConnectOptions options;
    options.path.rnr_retry = 2;
    connect(options);
    expect_error(send_wr(0, 10), DINGO_WCS_RNR_RETRY_EXC_ERR, DINGO_VERR_RNR);
    EXPECT_EQ(stat(1, DINGO_CARD_OUT_OF_BUFFER), 3U);
}

TEST_F(ErrorFlow, PeerThatVanishes) {
    TwoCards::ConnectOptions options;
    options.path.timeout = 10;
    options.path.retry_cnt = 2;
    connect(options);
    driver(1).destroy(DINGO_OP_DESTROY_QP, qp(1).qpn);
    expect_error(rdma(DINGO_WR_READ, 0, 0, 100), DINGO_WCS_RETRY_EXC_ERR, DINGO_VERR_TIMEOUT);
    EXPECT_EQ(stat(1, DINGO_CARD_RX_DROP_BAD_QPN), 3U);
}

TEST_F(ErrorFlow, PulledWireIsSurvivedWithinTheRetries) {
    connect();
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 1'000'000));
    cards.run_for(5'000);
    cards.card(0).engine->set_link(false);
    cards.run_for(100'000'000);
    EXPECT_FALSE(poll(0));
    cards.card(0).engine->set_link(true);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_F(ErrorFlow, LocalFaultsHaveTheirReason) {
    connect();
    const Mr no_write = driver(0).create_mr(4096, DINGO_ACC_REMOTE_READ);
    const Mr other_pd = driver(0).create_mr(4096, kAllAccess, 2);
    const auto with_sge = [&](std::uint8_t opcode, const dingo_sge& sge) {
        SendWr wr = rdma(opcode, 0, 0, 8);
        wr.sges = {sge};
        return wr;
    };
    dingo_sge bad_key = mr[0].sge(0, 8);
    bad_key.lkey ^= 1;
    struct Case {
        const char* what;
        SendWr wr;
        std::uint8_t status, vendor_err;
    };
    SendWr unknown = rdma(0x3F, 0, 0, 8);
    SendWr unprivileged;
    unprivileged.opcode = DINGO_WR_REG_MR;
    unprivileged.reg.page_shift = 12;
    SendWr flags = rdma(DINGO_WR_WRITE, 0, 0, 8);
    flags.flags |= 0x80;
    SendWr two = atomic(DINGO_WR_FETCH_ADD, 0, 1);
    two.sges = {mr[0].sge(0, 4), mr[0].sge(4, 4)};
    SendWr short_atomic = atomic(DINGO_WR_FETCH_ADD, 0, 1);
    short_atomic.sges = {mr[0].sge(0, 4)};
    SendWr inline_read = rdma(DINGO_WR_READ, 0, 0, 0);
    inline_read.sges.clear();
    inline_read.inline_data.resize(8);
    SendWr send_with_address = send_wr(0, 8);
    send_with_address.raddr = 1;
    const std::vector<Case> cases = {
        {"key", with_sge(DINGO_WR_WRITE, bad_key), DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_KEY},
        {"pd", with_sge(DINGO_WR_WRITE, other_pd.sge(0, 8)), DINGO_WCS_LOC_PROT_ERR,
         DINGO_VERR_KEY_PD},
        {"bounds", with_sge(DINGO_WR_WRITE, mr[0].sge(kRegion - 7, 8)), DINGO_WCS_LOC_PROT_ERR,
         DINGO_VERR_KEY_BOUNDS},
        {"access", with_sge(DINGO_WR_READ, no_write.sge(0, 8)), DINGO_WCS_LOC_PROT_ERR,
         DINGO_VERR_KEY_ACCESS},
        {"opcode", unknown, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_OPCODE},
        {"privilege", unprivileged, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_OPCODE},
        {"flags", flags, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_RESERVED},
        {"segment", send_with_address, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_RESERVED},
        {"two entries", two, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE},
        {"short atomic", short_atomic, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE},
        {"inline read", inline_read, DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.what);
        SendWr wr = c.wr;
        wr.flags &= static_cast<std::uint8_t>(~DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK);
        const auto frames = cards.card(0).wire.frames;
        expect_error(wr, c.status, c.vendor_err);
        EXPECT_EQ(cards.card(0).wire.frames, frames);  // nothing of it was sent
        EXPECT_EQ(state(0), DINGO_QPS_ERR);
        reconnect();
    }
    run(rdma(DINGO_WR_WRITE, 0, 0, 8));
}

TEST_F(ErrorFlow, WrongBlockCounts) {
    connect();
    for (const unsigned blocks : {0U, 9U, 2U, 255U}) {
        std::vector<std::byte> wqe = encode(rdma(DINGO_WR_WRITE, 0, 0, 8), false);
        wqe[2] = static_cast<std::byte>(blocks);
        driver(0).post_blocks(qp(0), wqe);
        const dingo_cqe cqe = wait(0);
        EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR);
        EXPECT_EQ(cqe.vendor_err, DINGO_VERR_WQE_SIZE);
        reconnect();
    }
}

TEST_F(ErrorFlow, SendQueueInBrokenMemory) {
    connect();
    cards.host(0).break_range(qp(0).sq, 4096);
    driver(0).ring_sq(qp(0));
    qp(0).sq_producer += 2;
    driver(0).ring_sq(qp(0));
    const dingo_cqe cqe = wait(0);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_WQE_FETCH);
    EXPECT_EQ(wait(0).status, DINGO_WCS_WR_FLUSH_ERR);
    EXPECT_GT(stat(0, DINGO_CARD_DMA_ERRORS), 0U);
}

TEST_F(ErrorFlow, PayloadBusErrors) {
    connect();
    cards.host(0).break_range(mr[0].bus + 8192, 4096);
    expect_error(rdma(DINGO_WR_WRITE, 8192, 0, 100), DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    reconnect();
    expect_error(rdma(DINGO_WR_READ, 8192, 0, 100), DINGO_WCS_LOC_PROT_ERR, DINGO_VERR_BUS);
    reconnect();
    cards.host(1).break_range(mr[1].bus + 8192, 4096);
    expect_error(rdma(DINGO_WR_WRITE, 0, 8192, 100), DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP);
    reconnect();
    expect_error(rdma(DINGO_WR_READ, 0, 8192, 100), DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP);
    reconnect();
    SendWr wr = atomic(DINGO_WR_FETCH_ADD, 8192, 1);
    expect_error(wr, DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP);
}

TEST_F(ErrorFlow, EarlierWorkCompletesBeforeALocalFault) {
    connect();
    for (int i = 0; i < 3; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 50'000), false);
    SendWr bad = rdma(DINGO_WR_WRITE, 0, 0, 8);
    bad.sges[0].lkey ^= 1;
    driver(0).post_send(qp(0), bad, false);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 8));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(wait().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait().status, DINGO_WCS_LOC_PROT_ERR);
    EXPECT_EQ(wait().status, DINGO_WCS_WR_FLUSH_ERR);
}

TEST_F(ErrorFlow, RegionDestroyedInTheMiddleOfAMessage) {
    connect();
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 2'000'000));
    cards.run_for(3'000);
    driver(1).destroy(DINGO_OP_DESTROY_MR, mr[1].key);
    const dingo_cqe cqe = wait(0);
    EXPECT_EQ(cqe.status, DINGO_WCS_REM_ACCESS_ERR);
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
}

TEST_F(ErrorFlow, RegionDestroyedInTheMiddleOfARead) {
    connect();
    unsigned responses = 0;
    cards.link.tap = [&](const Frame& frame) {
        if (frame.from == 1 && ++responses == 100)
            cards.card(1).wire.busy = true;
    };
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 2'000'000));
    cards.run_for(5'000);
    driver(1).destroy(DINGO_OP_DESTROY_MR, mr[1].key);
    cards.card(1).wire.busy = false;
    EXPECT_EQ(wait(0).status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_F(ErrorFlow, CqOverflowHurtsItsQpOnly) {
    TwoCards::ConnectOptions options;
    options.log_cq = 2;
    connect(options);
    TwoCards::Connection other = cards.connect();
    for (int i = 0; i < 8; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 8));
    cards.settle();
    EXPECT_EQ(state(0), DINGO_QPS_ERR);
    const auto kinds = events(0);
    EXPECT_EQ(kinds.count(DINGO_EV_CQ_ERR), 1U);
    EXPECT_EQ(kinds.count(DINGO_EV_QP_FATAL), 1U);
    EXPECT_EQ(stat(0, DINGO_CARD_CQ_OVERFLOW), 1U);
    driver(0).post_send(other.qp[0], rdma(DINGO_WR_WRITE, 0, 0, 8));
    EXPECT_EQ(cards.wait_cq(0, other.cq[0]).status, DINGO_WCS_SUCCESS);
}

TEST_F(ErrorFlow, ReceiveCqOverflowAtTheResponder) {
    TwoCards::ConnectOptions options;
    options.log_cq = 2;
    options.path.timeout = 8;
    options.path.retry_cnt = 1;
    connect(options);
    for (int i = 0; i < 8; ++i)
        driver(1).post_recv(qp(1), 0, {mr[1].sge(0, 100)});
    SendWr quiet = send_wr(0, 8);
    quiet.flags = 0;
    for (int i = 0; i < 8; ++i)
        driver(0).post_send(qp(0), quiet);
    EXPECT_EQ(wait(0).status, DINGO_WCS_RETRY_EXC_ERR);
    EXPECT_EQ(state(1), DINGO_QPS_ERR);
}

TEST_F(ErrorFlow, QpWithSrqReportsItsLastWqe) {
    connect();
    const Srq srq = driver(1).create_srq();
    QpOptions options;
    options.srqn = srq.srqn;
    options.log_rq = options.log_stride = 0;
    TestQp with_srq = driver(1).create_qp(link.cq[1], link.cq[1], options);
    const auto path = cards.path_to(0, qp(0).qpn);
    driver(1).to_init(with_srq, path);
    driver(1).to_rtr(with_srq, path);
    driver(1).to_state(with_srq, DINGO_QPS_ERR);
    cards.settle();
    int last = 0;
    while (const auto entry = event(1))
        last += entry->kind == DINGO_EV_QP_LAST_WQE && entry->id == with_srq.qpn;
    EXPECT_EQ(last, 1);
}

TEST_F(ErrorFlow, DrainingFinishesWhatWasBegunAndNothingElse) {
    connect();
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 3'000'000));
    cards.run_for(2'000);
    dingo_cmd_modify_qp command{};
    command.qpn = qp(0).qpn;
    command.mask = DINGO_QPM_STATE | DINGO_QPM_EN_SQD_ASYNC_NOTIFY;
    command.next_state = DINGO_QPS_SQD;
    command.attr.sqd_notify = 1;
    driver(0).modify(qp(0), command.mask, command);
    EXPECT_EQ(driver(0).query_qp(qp(0).qpn).sq_draining, 1);
    const std::uint32_t later = driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 8));
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    cards.settle();
    EXPECT_FALSE(poll(0));
    EXPECT_EQ(events(0).count(DINGO_EV_SQ_DRAINED), 1U);
    EXPECT_EQ(driver(0).query_qp(qp(0).qpn).sq_draining, 0);
    driver(0).to_state(qp(0), DINGO_QPS_RTS);
    EXPECT_EQ(wait(0).wqe_index, later);
}

TEST_F(ErrorFlow, ResetForgetsEverything) {
    connect();
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 3'000'000));
    cards.run_for(2'000);
    reconnect();
    EXPECT_EQ(driver(0).query_qp(qp(0).qpn).sq_consumer, 0U);
    run(rdma(DINGO_WR_WRITE, 0, 0, 3000));
    run(rdma(DINGO_WR_READ, 0, 0, 3000));
    EXPECT_FALSE(poll(0));
}

TEST_F(ErrorFlow, DoorbellsBeyondTheRingAreDropped) {
    connect();
    const std::uint64_t before = stat(0, DINGO_CARD_DB_DROPPED);
    TestQp wild = qp(0);
    wild.sq_producer = 65;
    driver(0).ring_sq(wild);
    wild.sq_producer = 0xFFFFFFFF;
    driver(0).ring_sq(wild);
    EXPECT_EQ(stat(0, DINGO_CARD_DB_DROPPED), before + 2);
    run(rdma(DINGO_WR_WRITE, 0, 0, 8));
}

TEST_F(ErrorFlow, AFlushLeavesTurnsToTheOthers) {
    constexpr std::uint32_t kPosted = 1000;
    TwoCards::ConnectOptions options;
    options.qp.log_sq = options.qp.log_rq = 10;
    options.log_cq = 12;
    for (const bool sends : {true, false}) {
        SCOPED_TRACE(sends ? "sends" : "receives");
        connect(options);
        TwoCards::Connection other = cards.connect();
        driver(0).to_state(qp(0), DINGO_QPS_SQD);
        for (std::uint32_t i = 0; i < kPosted; ++i)
            sends ? static_cast<void>(driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 8)))
                  : driver(0).post_recv(qp(0), i, {});
        driver(0).to_state(qp(0), DINGO_QPS_ERR);
        driver(0).post_send(other.qp[0], rdma(DINGO_WR_WRITE, 0, 0, 8));
        OneCard& card = cards.card(0);
        const auto before = card.wire.frames;
        while (card.wire.frames == before && card.engine->run(cards.now(), 8)) {
        }
        EXPECT_EQ(card.wire.frames, before + 1);
        std::uint32_t flushed = 0;
        while (poll(0))
            ++flushed;
        EXPECT_LT(flushed, kPosted / 2) << "the other QP waited for the whole flush";
        cards.settle();
        while (poll(0))
            ++flushed;
        EXPECT_EQ(flushed, kPosted);
    }
}

TEST_F(ErrorFlow, EveryReservedFieldOfAWorkRequestIsChecked) {
    TwoCards::ConnectOptions options;
    options.qp.flags = DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
    connect(options);
    constexpr std::size_t kSegment = sizeof(dingo_wqe_ctrl);
    const auto refused = [&](std::uint8_t opcode, std::size_t offset) {
        SendWr wr = rdma(opcode, 0, 0, 8);
        if (opcode <= DINGO_WR_SEND_INV || opcode == DINGO_WR_LOCAL_INV)
            wr.raddr = wr.rkey = 0;
        if (opcode >= DINGO_WR_LOCAL_INV)
            wr.sges.clear();
        wr.reg.page_shift = 12;
        std::vector<std::byte> wqe = encode(wr, false);
        wqe[kSegment + offset] = std::byte{1};
        driver(0).post_blocks(qp(0), wqe);
        const dingo_cqe cqe = wait(0);
        EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR) << int{opcode} << " at " << offset;
        EXPECT_EQ(cqe.vendor_err, DINGO_VERR_WQE_RESERVED) << int{opcode} << " at " << offset;
        reconnect();
    };
    constexpr std::array<std::uint8_t, 5> kRemote = {
        DINGO_WR_WRITE, DINGO_WR_WRITE_IMM, DINGO_WR_READ, DINGO_WR_CMP_SWAP, DINGO_WR_FETCH_ADD};
    for (const std::uint8_t opcode : kRemote)
        refused(opcode, offsetof(dingo_wqe_rdma, rsvd));
    constexpr std::array<std::uint8_t, 4> kWithoutSegment = {DINGO_WR_SEND, DINGO_WR_SEND_IMM,
                                                             DINGO_WR_SEND_INV, DINGO_WR_LOCAL_INV};
    for (const std::uint8_t opcode : kWithoutSegment)
        for (const std::size_t offset : {std::size_t{0}, sizeof(dingo_wqe_rdma) - 1})
            refused(opcode, offset);
    for (std::size_t i = 0; i < sizeof(dingo_wqe_bind::rsvd); ++i)
        refused(DINGO_WR_BIND_MW, offsetof(dingo_wqe_bind, rsvd) + i);
    for (std::size_t i = 0; i < sizeof(dingo_wqe_reg::rsvd0); ++i)
        refused(DINGO_WR_REG_MR, offsetof(dingo_wqe_reg, rsvd0) + i);
    refused(DINGO_WR_REG_MR, offsetof(dingo_wqe_reg, rsvd1));
}

}  // namespace
}  // namespace dingo::test
