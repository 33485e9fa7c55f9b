// SPDX-License-Identifier: BSD-2-Clause
//
// Errors of every origin, seen from both ends of a connection: statuses, events, states, flush.
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
    /// Resets and reconnects both QPs.
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
            driver(i).bring_up(qp(i), path);
        }
    }
};

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
        EXPECT_EQ(cards.card(0).wire.frames, frames);  // nothing was sent
        EXPECT_EQ(state(0), DINGO_QPS_ERR);
        reconnect();
    }
    run(rdma(DINGO_WR_WRITE, 0, 0, 8));
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

TEST_F(ErrorFlow, DrainingFinishesWhatWasBegunAndNothingElse) {
    connect();
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 3'000'000));
    cards.run_for(2'000);
    drain();
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

TEST_F(ErrorFlow, AFlushUsesTheBudgetOfItsRun) {
    constexpr std::uint32_t kPosted = 1000, kBudget = 160, kTurn = 16;
    TwoCards::ConnectOptions options;
    options.qp.log_sq = options.qp.log_rq = 10;
    options.log_cq = 12;
    connect(options);
    driver(0).to_state(qp(0), DINGO_QPS_SQD);
    for (std::uint32_t i = 0; i < kTurn / 2; ++i)  // sends and receives in one turn
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 8));
    for (std::uint32_t i = 0; i < kPosted; ++i)
        driver(0).post_recv(qp(0), i, {});
    const auto flushed = [&] {
        std::uint32_t count = 0;
        while (poll(0))
            ++count;
        return count;
    };
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    flushed();
    cards.card(0).engine->run(cards.now(), kBudget);
    const std::uint32_t count = flushed();
    EXPECT_GE(count, kBudget / 2);
    EXPECT_LE(count, kBudget + kTurn);
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
