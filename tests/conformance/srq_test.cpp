// SPDX-License-Identifier: BSD-2-Clause
//
// Shared receive queues between two cards.
#include "conformance.h"

namespace dingo::conformance {
namespace {

/// `count` connections whose receivers on card 1 share one SRQ and one CQ.
struct Shared {
    Shared(const std::string& engine, unsigned count, std::uint32_t limit = 0)
        : cards(engine, engine), cq{cards.driver(0).create_cq(), cards.driver(1).create_cq()} {
        srq = cards.driver(1).create_srq(6, 6, 1, limit);
        for (unsigned i = 0; i < count; ++i) {
            test::QpOptions options;
            sender.push_back(cards.driver(0).create_qp(cq[0], cq[0], options));
            options.srqn = srq.srqn;
            receiver.push_back(cards.driver(1).create_qp(cq[1], cq[1], options));
            connect(0, sender[i], receiver[i].qpn);
            connect(1, receiver[i], sender[i].qpn);
        }
        for (unsigned card = 0; card < 2; ++card)
            mr[card] = cards.driver(card).create_mr(1u << 20, kAllAccess);
    }
    void connect(unsigned card, const test::TestQp& qp, std::uint32_t peer) {
        const auto path = cards.path_to(1 - card, peer);
        cards.driver(card).bring_up(qp, path);
    }
    void send(unsigned i, std::uint64_t offset, std::uint32_t length) {
        test::SendWr wr;
        wr.sges = {mr[0].sge(offset, length)};
        cards.driver(0).post_send(sender[i], wr);
    }

    test::TwoCards cards;
    std::array<test::Cq, 2> cq;
    std::array<test::Mr, 2> mr;
    test::Srq srq;
    std::vector<test::TestQp> sender, receiver;
};

}  // namespace

CONFORMANCE_SUITE(SharedReceive);

TEST_P(SharedReceive, EveryMessageGetsOneEntryAndItsData) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 8);
    random_bytes(shared.cards.host(0).bytes(shared.mr[0].bus, 64 * 4096), 1);
    for (std::uint32_t i = 0; i < 64; ++i)
        shared.cards.driver(1).post_recv(shared.srq, i, {shared.mr[1].sge(i * 4096, 4096)});
    for (std::uint32_t i = 0; i < 64; ++i)
        shared.send(i % 8, i * 4096, 1 + i * 63);
    std::vector<bool> used(64);
    for (std::uint32_t i = 0; i < 64; ++i) {
        const dingo_cqe cqe = shared.cards.wait_cq(1, shared.cq[1]);
        ASSERT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        ASSERT_LT(cqe.wqe_index, 64u);
        ASSERT_FALSE(used[cqe.wqe_index]) << "an entry was used twice";
        used[cqe.wqe_index] = true;
        // The length tells which message it was.
        const std::uint32_t message = (cqe.byte_len - 1) / 63;
        EXPECT_EQ(test::cqe_qpn(cqe), shared.receiver[message % 8].qpn);
        EXPECT_TRUE(std::ranges::equal(
            shared.cards.host(0).bytes(shared.mr[0].bus + message * 4096, cqe.byte_len),
            shared.cards.host(1).bytes(shared.mr[1].bus + cqe.wqe_index * 4096, cqe.byte_len)));
    }
}

TEST_P(SharedReceive, QueryShowsLimitAndFillAndTheEventDisarms) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 1, 0);
    test::TestDriver& driver = shared.cards.driver(1);
    for (std::uint32_t i = 0; i < 5; ++i)
        driver.post_recv(shared.srq, i, {shared.mr[1].sge(0, 64)});
    dingo_cmd_modify_srq modify{};
    modify.srqn = shared.srq.srqn;
    modify.limit = 4;
    driver.execute_ok(DINGO_OP_MODIFY_SRQ, modify);
    dingo_admin_cpl query = driver.destroy(DINGO_OP_QUERY_SRQ, shared.srq.srqn);
    EXPECT_EQ(query.result[0], 4u);
    EXPECT_EQ(query.result[1], 5u);
    shared.send(0, 0, 8);
    shared.send(0, 0, 8);
    shared.cards.wait_cq(1, shared.cq[1]);
    shared.cards.wait_cq(1, shared.cq[1]);
    query = driver.destroy(DINGO_OP_QUERY_SRQ, shared.srq.srqn);
    EXPECT_EQ(query.result[0], 0u) << "the limit disarms itself when it fires";
    EXPECT_EQ(query.result[1], 3u);
}

TEST_P(SharedReceive, BusyWhileAQpUsesIt) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 1);
    test::TestDriver& driver = shared.cards.driver(1);
    EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_SRQ, shared.srq.srqn).status, DINGO_ST_BUSY);
    EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_QP, shared.receiver[0].qpn).status, DINGO_ST_OK);
    EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_SRQ, shared.srq.srqn).status, DINGO_ST_OK);
}

}  // namespace dingo::conformance
