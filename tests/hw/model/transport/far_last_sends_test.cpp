// SPDX-License-Identifier: BSD-2-Clause
//
// Engine::send_posted(): what is sent before a QP moves to ERR, and what is not waited for.
#include "far_fixture.h"

namespace dingo::test {
namespace {

class LastSends : public Far {
  protected:
    bool send_posted() { return cards.card(0).engine->send_posted(qp(0).qpn); }
    /// Posts SENDs of `bytes` bytes without running the card.
    void post(unsigned count, std::uint32_t bytes = 64) {
        for (unsigned n = 0; n < count; ++n) {
            driver(1).post_recv(qp(1), n, {near[1].sge(0, bytes)});
            SendWr wr;
            wr.sges = {near[0].sge(0, bytes)};
            driver(0).post_send(qp(0), wr);
        }
    }
    unsigned received() {
        run_a_little();
        unsigned count = 0;
        while (const auto cqe = poll(1))
            count += cqe->status == DINGO_WCS_SUCCESS ? 1 : 0;
        return count;
    }
    /// Calls send_posted() until it returns false; returns the number of turns.
    unsigned turns() {
        unsigned count = 0;
        while (send_posted() && count < 1'000)
            ++count;
        return count;
    }
};

TEST_F(LastSends, AreFetchedBeforeTheQpGoes) {
    connect_far({0});
    for (unsigned n = 0; n < 2; ++n) {
        driver(1).post_recv(qp(1), n, {near[1].sge(0, 64)});
        driver(0).post_send(qp(0), send_wr(64 * n, 64));
    }
    EXPECT_TRUE(send_posted());
    EXPECT_TRUE(send_posted()) << "it is not there yet";
    far[0].make();
    EXPECT_TRUE(send_posted()) << "the second one is fetched when the first one has left";
    far[0].make();
    EXPECT_FALSE(send_posted());
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    EXPECT_EQ(received(), 2U);
}

/// send_posted() for a QP that is not in the scheduler, while the wire is full: its turn is not
/// lost.
TEST_F(LastSends, AFullWireDuringALookDoesNotKeepTheQpFromItsTurns) {
    connect_far({0});
    driver(1).post_recv(qp(1), 0, {near[1].sge(0, 64)});
    driver(0).post_send(qp(0), send_wr(0, 64));
    run_a_little();  // its turn ends with a fetch that does not complete
    cards.card(0).wire.busy = true;
    EXPECT_TRUE(send_posted());
    cards.card(0).wire.busy = false;
    far[0].make();
    run_a_little();
    EXPECT_EQ(received(), 1U);
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
    run_a_little();
    const auto done = poll(0);
    ASSERT_TRUE(done);
    const auto flushed = poll(0);
    ASSERT_TRUE(flushed) << "it is flushed";
    EXPECT_EQ(flushed->status, DINGO_WCS_WR_FLUSH_ERR);
}

TEST_F(LastSends, DatagramsAreFetchedToo) {
    region_is_far(0);
    mr[0] = driver(0).create_mr(kRegion, kAllAccess);
    link.cq[0] = driver(0).create_cq();
    QpOptions options;
    options.kind = DINGO_QPT_UD;
    link.qp[0] = driver(0).create_qp(link.cq[0], link.cq[0], options);
    TestDriver::PathOptions path;
    path.qkey = 5;
    driver(0).bring_up(qp(0), path);
    SendWr wr = send_wr(0, 64);
    wr.ud = cards.ud_to(1, 77, 5);
    driver(0).post_send(qp(0), wr);
    EXPECT_TRUE(send_posted());
    far[0].make();
    EXPECT_FALSE(send_posted());
    EXPECT_EQ(qp_stat(0, DINGO_QP_TX_PACKETS), 1U);
}

// As for a guest, whose driver only sends the command.
TEST_F(LastSends, ManySmallOnesLeaveBeforeTheCommand) {
    connect_far({}, 0, 9);
    post(64);
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    EXPECT_EQ(received(), 64U);
}

TEST_F(LastSends, ManySmallOnesTakeSomeTurns) {
    connect_far({}, 0, 9);
    EXPECT_FALSE(send_posted()) << "nothing is posted";
    post(40);
    EXPECT_EQ(turns(), 2U);
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    EXPECT_EQ(received(), 40U);
}

TEST_F(LastSends, AFullWireIsWaitedFor) {
    connect_far({});
    cards.card(0).wire.busy = true;
    post(1);
    EXPECT_TRUE(send_posted());
    cards.card(0).wire.busy = false;
    EXPECT_FALSE(send_posted());
    EXPECT_EQ(received(), 1U);
}

TEST_F(LastSends, AreNotWaitedForWhenThePeerHasTooMuchToAcknowledge) {
    connect_far({}, 0, 9);
    post(16, 20 << 10);
    turns();
    const std::uint64_t sent = qp_stat(0, DINGO_QP_TX_PACKETS);
    EXPECT_LE(sent, 256U);
    EXPECT_FALSE(send_posted());
    EXPECT_EQ(qp_stat(0, DINGO_QP_TX_PACKETS), sent);
}

TEST_F(LastSends, AreNotWaitedForWhenTheQpMayNotSend) {
    connect_far({0});
    EXPECT_FALSE(cards.card(0).engine->send_posted(qp(0).qpn + 1)) << "no QP";
    // After the fence is a READ without response.
    cards.link.hook = [](Frame&) { return false; };
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 64));
    SendWr fenced = rdma(DINGO_WR_WRITE, 0, 1 << 20, 64);
    fenced.flags |= DINGO_WQE_CTRL_FLAGS_FENCE_MASK;
    driver(0).post_send(qp(0), fenced);
    EXPECT_FALSE(send_posted());
    driver(0).to_state(qp(0), DINGO_QPS_SQD);
    driver(0).post_send(qp(0), send_wr(0, 64));
    EXPECT_FALSE(send_posted());
    driver(0).to_state(qp(0), DINGO_QPS_ERR);
    EXPECT_FALSE(send_posted());
}

TEST_F(LastSends, AreNotWaitedForWhileThePeerHasNoReceive) {
    connect_far({});
    SendWr wr;
    wr.sges = {near[0].sge(0, 64)};
    driver(0).post_send(qp(0), wr);
    for (unsigned n = 0; n < 100 && stat(1, DINGO_CARD_RNR_NAK_SENT) == 0; ++n)
        cards.run_for(100);
    ASSERT_EQ(stat(1, DINGO_CARD_RNR_NAK_SENT), 1U);
    EXPECT_FALSE(send_posted());
}

// The QP's responses get turns of their own.
TEST_F(LastSends, AreNotWaitedForWhileThePeerReads) {
    connect_far({0});
    driver(1).post_send(qp(1), [this] {
        SendWr wr;
        wr.opcode = DINGO_WR_READ;
        wr.raddr = mr[0].iova;
        wr.rkey = mr[0].key;
        wr.sges = {near[1].sge(0, 64)};
        return wr;
    }());
    run_a_little();
    EXPECT_EQ(far[0].waiting(), 1U);
    EXPECT_FALSE(send_posted());
}

}  // namespace
}  // namespace dingo::test
