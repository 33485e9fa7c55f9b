// SPDX-License-Identifier: BSD-2-Clause
//
// PAUSE_MR during traffic: peers and local work wait, and all of it continues in the new memory.
#include "fixture.h"

namespace dingo::test {
namespace {

class Pause : public Connected {
  protected:
    void pause(unsigned i) {
        ASSERT_EQ(driver(i).destroy(DINGO_OP_PAUSE_MR, mr[i].key).status, DINGO_ST_OK);
    }
    /// Moves the region to new memory, with its content.
    void move(unsigned i) {
        const std::uint64_t bus = cards.host(i).alloc(kRegion);
        const auto old = cards.host(i).bytes(mr[i].bus, kRegion);
        std::ranges::copy(old, cards.host(i).bytes(bus, kRegion).begin());
        std::ranges::fill(old, std::byte{0xEE});
        mr[i].bus = bus;
        dingo_cmd_create_mr command{};
        command.key = command.old_key = mr[i].key;
        command.pdn = 1;
        command.access = kAllAccess;
        command.kind = DINGO_MRT_MR;
        command.mem.addr = bus;
        command.iova = mr[i].iova;
        command.length = kRegion;
        driver(i).execute_ok(DINGO_OP_REREG_MR, command);
    }
    void pause_and_move(unsigned i) {
        pause(i);
        cards.run_for(300'000'000);
        EXPECT_FALSE(poll(0));
        move(i);
    }
};

TEST_F(Pause, WriteToAPausedRegionWaits) {
    connect();
    fill(0, 0, 1'000'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 1'000'000));
    cards.run_for(3'000);
    pause_and_move(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 1'000'000));
    EXPECT_GT(stat(1, DINGO_CARD_RNR_NAK_SENT), 0U);
}

TEST_F(Pause, ReadOfAPausedRegionWaits) {
    TwoCards::ConnectOptions options;
    options.path.timeout = 18;
    connect(options);
    fill(1, 0, 1'000'000);
    pause(1);
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 1'000'000));
    cards.run_for(300'000'000);
    EXPECT_FALSE(poll(0));
    move(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 1'000'000));
}

TEST_F(Pause, LocalWorkWaits) {
    connect();
    fill(0, 0, 1'000'000);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 1'000'000));
    cards.run_for(3'000);
    pause_and_move(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 1'000'000));
    pause(0);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 1'000'000));
    cards.run_for(300'000'000);
    EXPECT_FALSE(poll(0));
    move(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_F(Pause, ReadIntoAPausedRegionIsRepeatedWithoutUsingRetries) {
    TwoCards::ConnectOptions options;
    options.path.timeout = 10;
    options.path.retry_cnt = 0;
    connect(options);
    fill(1, 0, 100'000);
    bool paused = false;
    cards.link.tap = [&](const Frame& frame) { paused = paused || frame.from == 1; };
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 100'000));
    cards.run_until([&] { return paused; });
    pause_and_move(0);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(same(0, 0, 100'000));
}

TEST_F(Pause, ReadIntoAPausedRegionNeedsNoTimer) {
    for (const bool destroyed : {false, true}) {
        TwoCards::ConnectOptions options;
        options.path.timeout = 0;
        connect(options);
        fill(1, 0, 100'000);
        bool answered = false;
        cards.link.tap = [&](const Frame& frame) { answered = answered || frame.from == 1; };
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 100'000));
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 200'000, 200'000, 1'000));
        cards.run_until([&] { return answered; });
        pause(0);
        cards.run_for(300'000'000);
        EXPECT_FALSE(poll(0));
        if (destroyed) {
            ASSERT_EQ(driver(0).destroy(DINGO_OP_DESTROY_MR, mr[0].key).status, DINGO_ST_OK);
            EXPECT_STREQ(status_name(wait(0).status), "LOC_PROT_ERR");
            EXPECT_STREQ(status_name(wait(0).status), "WR_FLUSH_ERR");
        } else {
            move(0);
            EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
            EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
            EXPECT_TRUE(same(0, 0, 100'000));
        }
    }
}

// One repetition is caused locally. What the peer leaves unanswered after that counts.
TEST_F(Pause, APeerThatGoesAwayMeanwhileIsNotAskedForEver) {
    TwoCards::ConnectOptions options;
    options.path.timeout = 10;
    options.path.retry_cnt = 1;
    connect(options);
    bool answered = false;
    unsigned asked = 0;
    cards.link.hook = [&](Frame& frame) {
        asked += answered && frame.from == 0 ? 1 : 0;
        const bool lost = answered;
        answered = answered || frame.from == 1;
        return !lost;
    };
    driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 1'000));
    cards.run_until([&] { return answered; });
    pause(0);
    cards.run_for(300'000'000);
    EXPECT_EQ(asked, 0U);
    move(0);
    cards.run_for(10'000'000'000);
    EXPECT_EQ(stat(0, DINGO_CARD_RX_DROP_RESPONSE), 1U);
    const auto cqe = poll(0);
    ASSERT_TRUE(cqe);
    EXPECT_STREQ(status_name(cqe->status), "RETRY_EXC_ERR");
    EXPECT_EQ(asked, 2U);
}

TEST_F(Pause, RegionPausedHalfwayThroughAReadHoldsTheResponseBack) {
    for (const bool patient : {true, false}) {
        TwoCards::ConnectOptions options;
        options.path.timeout = patient ? 18 : 10;
        options.path.retry_cnt = patient ? 7 : 0;
        options.path.rnr_retry = 7;
        connect(options);
        fill(1, 0, 1'000'000);
        bool begun = false;
        cards.link.tap = [&](const Frame& frame) { begun = begun || frame.from == 1; };
        driver(0).post_send(qp(0), rdma(DINGO_WR_READ, 0, 0, 1'000'000));
        cards.run_until([&] { return begun; });
        pause(1);
        cards.run_for(300'000'000);
        EXPECT_FALSE(poll(0));
        EXPECT_GT(qp_stat(1, DINGO_QP_RNR_NAK_SENT), 0U);
        move(1);
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(same(0, 0, 1'000'000));
        EXPECT_EQ(qp_stat(0, DINGO_QP_TIMEOUTS), 0U);
    }
}

TEST_F(Pause, SendIntoAPausedRegionWaits) {
    connect();
    fill(0, 0, 5'000);
    driver(1).post_recv(qp(1), 77, {mr[1].sge(0, 8'192)});
    pause(1);
    driver(0).post_send(qp(0), send_wr(0, 5'000));
    cards.run_for(100'000'000);
    EXPECT_FALSE(poll(1));
    move(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(wait(1).wqe_index, 77U);
    EXPECT_TRUE(same(0, 0, 5'000));
}

}  // namespace
}  // namespace dingo::test
