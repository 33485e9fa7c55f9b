// SPDX-License-Identifier: BSD-2-Clause
//
// Far memory with UC and UD QPs, which send no responses: receives complete when their data are in
// place, and a failed write moves the QP to ERR without telling the peer.
#include "far_fixture.h"

namespace dingo::test {
namespace {

class FarUnreliable : public Far, public testing::WithParamInterface<int> {
  protected:
    void start() {
        region_is_far(1);
        TwoCards::ConnectOptions options;
        options.qp.kind = static_cast<std::uint8_t>(GetParam());
        connect(options);
    }
    [[nodiscard]] static bool is_uc() { return GetParam() == DINGO_QPT_UC; }
    /// Bytes in front of the message in a receive buffer.
    [[nodiscard]] static std::uint32_t header() { return is_uc() ? 0 : 40; }
    void send(std::uint32_t bytes) {
        SendWr wr = send_wr(0, bytes);
        wr.ud = cards.ud_to(1, qp(1).qpn, TestDriver::PathOptions{}.qkey);
        run(wr);
    }
    /// Card 1 lost the data: its QP is in ERR, with an event and without a response.
    void expect_ended() {
        EXPECT_EQ(state(1), DINGO_QPS_ERR);
        bool told = false;
        while (const auto next = event(1))
            told = told || (next->kind == DINGO_EV_QP_FATAL && next->id == qp(1).qpn);
        EXPECT_TRUE(told);
        EXPECT_EQ(qp_stat(1, DINGO_QP_TX_PACKETS), 0U);
        EXPECT_EQ(stat(1, DINGO_CARD_RESP_REMOTE_OP_ERRORS), 0U);
        EXPECT_EQ(stat(1, DINGO_CARD_DMA_ERRORS), 1U);
        EXPECT_EQ(state(0), DINGO_QPS_RTS);
    }
};

TEST_P(FarUnreliable, ReceiveCompletesWhenItsDataAreThere) {
    start();
    fill(0, 0, 1'000);
    driver(1).post_recv(qp(1), 7, {mr[1].sge(0, 4'096)});
    send(1'000);
    run_a_little();
    EXPECT_FALSE(poll(1));
    EXPECT_FALSE(same(0, header(), 1'000));
    finish(1);
    const dingo_cqe cqe = wait(1);
    EXPECT_EQ(cqe.status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cqe.wqe_index, 7U);
    EXPECT_EQ(cqe.byte_len, header() + 1'000);
    EXPECT_TRUE(same(0, header(), 1'000));
    EXPECT_EQ(far[1].messages, 1U);
}

TEST_P(FarUnreliable, ReceiveThatMeetsABusErrorEndsTheQueuePairInSilence) {
    start();
    cards.host(1).break_range(mr[1].bus, 4'096);
    driver(1).post_recv(qp(1), 1, {mr[1].sge(0, 4'096)});
    driver(1).post_recv(qp(1), 2, {mr[1].sge(8'192, 4'096)});
    send(1'000);
    run_a_little();
    finish(1);
    const dingo_cqe first = wait(1);
    EXPECT_STREQ(status_name(first.status), "LOC_PROT_ERR");
    EXPECT_EQ(first.vendor_err, DINGO_VERR_BUS);
    EXPECT_STREQ(status_name(wait(1).status), "WR_FLUSH_ERR");
    expect_ended();
}

TEST_P(FarUnreliable, WriteThatMeetsABusErrorEndsTheQueuePairInSilence) {
    if (!is_uc())
        return;  // not for UD
    start();
    cards.host(1).break_range(mr[1].bus, 4'096);
    run(rdma(DINGO_WR_WRITE, 0, 0, 1'000));
    run_a_little();
    EXPECT_EQ(state(1), DINGO_QPS_RTS);
    finish(1);
    run_a_little();
    EXPECT_FALSE(poll(1));
    expect_ended();
}

INSTANTIATE_TEST_SUITE_P(Kinds, FarUnreliable, testing::Values(DINGO_QPT_UC, DINGO_QPT_UD));

}  // namespace
}  // namespace dingo::test
