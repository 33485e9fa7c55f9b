// SPDX-License-Identifier: BSD-2-Clause
//
// What a peer is told while data are in flight to far memory.
#include "far_fixture.h"

namespace dingo::test {
namespace {

// IBA volume 1, 9.7.5: the MSN of a response counts completed messages.
TEST_F(Far, AcknowledgementDoesNotCountMessagesWhoseDataAreMissing) {
    connect_far({1});
    note_msns();
    for (unsigned i = 0; i < 3; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, i * 8'192, 64));
    run_a_little();
    ASSERT_EQ(far[1].waiting(), 3U);
    far[1].make(1);
    run_a_little();
    EXPECT_EQ(msns, std::vector<std::uint32_t>({1}));
    finish(1);
    for (unsigned i = 0; i < 3; ++i)
        EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(msns.back(), 3U);
}

// The reply was made before the second message arrived.
TEST_F(Far, AcknowledgementThatTheWireDelaysDoesNotCountThemEither) {
    connect_far({1});
    note_msns();
    cards.card(1).wire.busy = true;
    driver(0).post_send(qp(0), small_write());
    run_a_little();
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 8'192, 64));
    run_a_little();
    ASSERT_EQ(far[1].waiting(), 1U);
    cards.card(1).wire.busy = false;
    run_a_little();
    EXPECT_EQ(msns, std::vector<std::uint32_t>({1}));
}

TEST_F(Far, AtomicGetsItsValueAlsoIfTheNumberOfSlotsChangesMeanwhile) {
    connect_far({1});
    for (unsigned i = 0; i < 2; ++i) {
        SendWr wr = to_near(0, 0, 8);
        wr.opcode = DINGO_WR_READ;
        run(wr);
    }
    cards.host(1).store<std::uint64_t>(mr[1].bus + 64, 7);
    driver(0).post_send(qp(0), atomic(DINGO_WR_FETCH_ADD, 64, 3));
    run_a_little();
    driver(1).to_state(qp(1), DINGO_QPS_SQD);
    dingo_cmd_modify_qp command{};
    command.attr = driver(1).query_qp(qp(1).qpn).attr;
    command.attr.max_dest_rd_atomic = 2;
    driver(1).modify(qp(1), DINGO_QPM_MAX_DEST_RD_ATOMIC, command);
    finish(1);
    EXPECT_EQ(wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(cards.host(0).load<std::uint64_t>(mr[0].bus), 7U);
}

TEST_F(Far, NakDoesNotCountTheMessageThatFailed) {
    connect_far({1});
    cards.host(1).break_range(mr[1].bus + 8'192, 4'096);
    note_msns();
    for (unsigned i = 0; i < 3; ++i)
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, i * 8'192, 64));
    run_a_little();
    finish(1);
    EXPECT_STREQ(status_name(wait(0).status), "SUCCESS");
    EXPECT_STREQ(status_name(wait(0).status), "REM_OP_ERR");
    EXPECT_EQ(msns.back(), 1U);
}

// Without a timeout, a NAK that its receiver drops would never be noticed.
TEST_F(Far, FailureBehindAReadThatWasAnsweredIsHeardOf) {
    for (const bool answered : {true, false}) {
        TwoCards::ConnectOptions options;
        options.path.timeout = 0;
        if (answered)
            connect_far({1});
        else
            link = cards.connect(options);
        const std::uint64_t bad = answered ? 8'192 : 16'384;
        cards.host(1).break_range(mr[1].bus + bad, 4'096);
        SendWr read = small_write();
        read.opcode = DINGO_WR_READ;
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
        driver(0).post_send(qp(0), read);
        driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, bad, 64));
        driver(0).post_send(qp(0), read);
        far[1].pace = 0;
        run_a_little();
        ASSERT_EQ(far[1].waiting(), 2U);
        if (answered) {
            far[1].make(1);
            run_a_little();
        }
        finish(1);
        run_a_little();
        for (const char* const status : {"SUCCESS", "SUCCESS", "REM_OP_ERR", "WR_FLUSH_ERR"}) {
            const auto cqe = poll(0);
            ASSERT_TRUE(cqe) << status;
            EXPECT_STREQ(status_name(cqe->status), status);
        }
    }
}

TEST_F(Far, FailureComesBehindAllReadsBeforeIt) {
    connect_far({1});
    constexpr std::uint64_t kBad = 8'192;
    cards.host(1).break_range(mr[1].bus + kBad, 4'096);
    SendWr read = small_write();
    read.opcode = DINGO_WR_READ;
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
    for (unsigned i = 0; i < 3; ++i)
        driver(0).post_send(qp(0), read);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, kBad, 64));
    run_a_little();
    finish(1);
    run_a_little();
    for (const char* const status : {"SUCCESS", "SUCCESS", "SUCCESS", "SUCCESS", "REM_OP_ERR"}) {
        const auto cqe = poll(0);
        ASSERT_TRUE(cqe) << status;
        EXPECT_STREQ(status_name(cqe->status), status);
    }
}

// The part of the READ that was sent counts the message before it, and so must the following NAK:
// its receiver would drop one that counts less.
TEST_F(Far, FailureBehindAReadThatWasAnsweredInPartIsHeardOf) {
    connect_far({1});
    constexpr std::uint64_t kBad = 8'192;
    cards.host(1).break_range(mr[1].bus + kBad, 4'096);
    std::optional<Frame> asked;
    cards.link.tap = [&](const Frame& frame) {
        const auto packet = parse_frame(frame);
        if (packet && packet->op().is_read_request())
            asked = frame;
        if (packet && packet->op().is_read_response())
            cards.card(1).wire.busy = true;
    };
    SendWr read = to_near(8'192, 0, 3'000);  // three packets
    read.opcode = DINGO_WR_READ;
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, 0, 64));
    driver(0).post_send(qp(0), read);
    driver(0).post_send(qp(0), rdma(DINGO_WR_WRITE, 0, kBad, 64));
    run_a_little();
    ASSERT_EQ(far[1].waiting(), 2U);
    far[1].make(1);
    cards.run_until([&] { return cards.card(1).wire.busy; });
    ASSERT_TRUE(asked);
    cards.link.inject(*asked, cards.now());  // it arrives after the WRITE that will fail
    cards.run_for(10'000);
    finish(1);
    cards.run_for(10'000);
    cards.link.tap = nullptr;
    cards.card(1).wire.busy = false;
    run_a_little();
    for (const char* const status : {"SUCCESS", "REM_OP_ERR", "WR_FLUSH_ERR"}) {
        const auto cqe = poll(0);
        ASSERT_TRUE(cqe) << status;
        EXPECT_STREQ(status_name(cqe->status), status);
    }
}

}  // namespace
}  // namespace dingo::test
