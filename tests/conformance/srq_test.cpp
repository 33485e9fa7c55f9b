// SPDX-License-Identifier: BSD-2-Clause
//
// Shared receive queues between two cards.
#include "conformance.h"

namespace dingo::conformance {
namespace {

/// `count` connections whose receivers on card 1 share one SRQ and one CQ.
struct Shared {
    Shared(const std::string& engine, unsigned count, std::uint32_t limit = 0,
           unsigned log_size = 6)
        : cards(engine, engine), cq{cards.driver(0).create_cq(), cards.driver(1).create_cq()} {
        srq = cards.driver(1).create_srq(log_size, 6, 1, limit);
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

    std::uint64_t doorbells_dropped() { return cards.driver(1).card_stat(DINGO_CARD_DB_DROPPED); }
    std::uint64_t available() {
        return cards.driver(1).destroy(DINGO_OP_QUERY_SRQ, srq.srqn).result[1];
    }
    /// The next asynchronous event of the receivers' card, or 0.
    std::uint8_t event(std::uint32_t id) {
        test::TestDriver& driver = cards.driver(1);
        std::optional<dingo_eqe> eqe;
        cards.run_until(
            [&] {
                do
                    eqe = driver.poll_eq(driver.async_eq);
                while (eqe && eqe->kind == DINGO_EV_PORT_UP);  // raised at the start
                return eqe.has_value();
            },
            100'000'000);
        EXPECT_TRUE(!eqe || eqe->id == id);
        return eqe ? eqe->kind : 0;
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
        // The length identifies the message.
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

/// Posts like the provider: never more outstanding than the ring has entries. Slots of messages in
/// progress are then overwritten, because messages of other QPs complete first.
TEST_P(SharedReceive, SlotsOfMessagesInProgressArePostedAnew) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    constexpr std::uint32_t kLength = 16384;  // of every fourth message: many packets
    constexpr std::uint32_t kMessages = 64;
    Shared shared(engine(), 8, 0, 2);
    random_bytes(shared.cards.host(0).bytes(shared.mr[0].bus, 1u << 20), 1);
    std::vector<unsigned> order;
    std::vector<bool> used(64);
    std::uint32_t posted = 0;
    const auto post = [&] {
        if (posted < kMessages) {
            shared.cards.driver(1).post_recv(shared.srq, posted,
                                             {shared.mr[1].sge(posted % 60 * kLength, kLength)});
            ++posted;
        }
    };
    for (unsigned i = 0; i < 4; ++i)
        post();
    const auto length = [](std::uint32_t message) {
        return message % 4 == 0 ? kLength - message : 1 + message;
    };
    for (std::uint32_t i = 0; i < kMessages; ++i)
        shared.send(i % 8, i * 128, length(i));
    for (std::uint32_t i = 0; i < kMessages; ++i) {
        const dingo_cqe cqe = shared.cards.wait_cq(1, shared.cq[1]);
        ASSERT_EQ(cqe.status, DINGO_WCS_SUCCESS);
        ASSERT_FALSE(used[cqe.wqe_index]) << "an entry was used twice";
        used[cqe.wqe_index] = true;
        const std::uint32_t message =
            cqe.byte_len > kMessages ? kLength - cqe.byte_len : cqe.byte_len - 1;
        EXPECT_EQ(test::cqe_qpn(cqe), shared.receiver[message % 8].qpn);
        EXPECT_TRUE(std::ranges::equal(
            shared.cards.host(0).bytes(shared.mr[0].bus + message * 128, cqe.byte_len),
            shared.cards.host(1).bytes(shared.mr[1].bus + cqe.wqe_index % 60 * kLength,
                                       cqe.byte_len)));
        post();
    }
}

TEST_P(SharedReceive, RingThatCannotBeReadStopsIt) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 2);
    test::TestDriver& driver = shared.cards.driver(1);
    driver.post_recv(shared.srq, 7, {shared.mr[1].sge(0, 64)});
    driver.post_recv(shared.srq, 8, {shared.mr[1].sge(0, 64)});
    shared.cards.host(1).break_range(shared.srq.ring, 4096);
    shared.send(0, 0, 8);
    EXPECT_EQ(shared.cards.wait_cq(0, shared.cq[0]).status, DINGO_WCS_REM_OP_ERR);
    const dingo_cqe cqe = shared.cards.wait_cq(1, shared.cq[1]);
    EXPECT_EQ(cqe.status, DINGO_WCS_LOC_QP_OP_ERR);
    EXPECT_EQ(cqe.vendor_err, DINGO_VERR_WQE_FETCH);
    EXPECT_EQ(shared.event(shared.srq.srqn), DINGO_EV_SRQ_ERR);
    EXPECT_EQ(shared.event(shared.receiver[0].qpn), DINGO_EV_QP_LAST_WQE);
    shared.cards.host(1).break_range(shared.srq.ring, 4096, false);
    // Entries posted before or after are not delivered.
    EXPECT_EQ(shared.available(), 1u);
    const std::uint64_t dropped = shared.doorbells_dropped();
    driver.post_recv(shared.srq, 9, {shared.mr[1].sge(0, 64)});
    shared.send(1, 0, 8);
    shared.cards.run_for(1'000'000);
    EXPECT_EQ(shared.doorbells_dropped(), dropped + 1);
    EXPECT_GT(driver.card_stat(DINGO_CARD_RNR_NAK_SENT), 0u);
    EXPECT_FALSE(driver.poll_cq(shared.cq[1]));
}

TEST_P(SharedReceive, DoorbellsThatLieAreDropped) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 1);
    test::TestDriver& driver = shared.cards.driver(1);
    for (std::uint32_t i = 0; i < 3; ++i)
        driver.post_recv(shared.srq, i, {shared.mr[1].sge(0, 64)});
    ASSERT_EQ(shared.available(), 3u);
    const std::uint64_t dropped = shared.doorbells_dropped();
    const std::uint32_t word0 = std::uint32_t{DINGO_DB_SRQ} << 24 | shared.srq.srqn;
    driver.doorbell(1, word0, 65);            // more than the ring holds
    driver.doorbell(1, word0, 2);             // backwards
    driver.doorbell(2, word0, 4);             // another process' page
    driver.doorbell(1, word0 + 1, 4);         // no such SRQ
    driver.doorbell(1, word0 | 0xff0000, 4);  // nor this
    driver.doorbell(1, word0 | 1u << 28, 4);  // no such flag
    driver.doorbell(1, std::uint32_t{DINGO_DB_RQ} << 24 | shared.receiver[0].qpn, 1);
    EXPECT_EQ(shared.available(), 3u);
    EXPECT_EQ(shared.doorbells_dropped(), dropped + 7);
    driver.doorbell(1, word0, 64);
    EXPECT_EQ(shared.available(), 64u);
}

TEST_P(SharedReceive, CommandsThatLieAreRefused) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 1);
    test::TestDriver& driver = shared.cards.driver(1);
    const std::uint32_t srqn = shared.srq.srqn;
    const auto expect = [&](const dingo_admin_cpl& cpl, std::uint32_t status,
                            std::uint32_t detail = 0) {
        EXPECT_EQ(cpl.status, status);
        EXPECT_EQ(cpl.detail, detail);
    };
    dingo_cmd_modify_srq modify{};
    modify.srqn = srqn;
    modify.limit = 65;
    expect(driver.execute(DINGO_OP_MODIFY_SRQ, modify), DINGO_ST_BAD_FIELD,
           offsetof(dingo_cmd_modify_srq, limit));
    modify.limit = 64;
    expect(driver.execute(DINGO_OP_MODIFY_SRQ, modify), DINGO_ST_OK);
    EXPECT_EQ(shared.event(srqn), DINGO_EV_SRQ_LIMIT) << "set too late";
    modify.srqn = srqn + 1;
    expect(driver.execute(DINGO_OP_MODIFY_SRQ, modify), DINGO_ST_BAD_ID);
    expect(driver.destroy(DINGO_OP_QUERY_SRQ, srqn + 1), DINGO_ST_BAD_ID);
    expect(driver.destroy(DINGO_OP_QUERY_SRQ, 0x1000000 | srqn), DINGO_ST_BAD_ID);

    using Create = dingo_cmd_create_srq;
    Create create{};
    create.srqn = srqn;
    create.log_size = 4;
    create.log_stride = 6;
    create.ring.addr = shared.srq.ring;
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_IN_USE);
    create.srqn = driver.query_limits().max_srq;
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BAD_FIELD, offsetof(Create, srqn));
    create.srqn = srqn + 1;
    create.limit = 17;
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BAD_FIELD,
           offsetof(Create, limit));
    create.limit = 16;
    create.log_size = 16;
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BAD_FIELD,
           offsetof(Create, log_size));
    create.log_size = 4;
    create.log_stride = 4;
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BAD_FIELD,
           offsetof(Create, log_stride));
    create.log_stride = 9;
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BAD_FIELD,
           offsetof(Create, log_stride));
    create.log_stride = 8;
    create.ring.levels = 1;
    create.ring.page_shift = 12;
    create.ring.addr = 8;  // no memory there
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BUS_ERROR);
    create.ring.addr = shared.mr[1].bus;
    shared.cards.host(1).store(create.ring.addr, std::uint64_t{0x1008});  // no page
    expect(driver.execute(DINGO_OP_CREATE_SRQ, create), DINGO_ST_BAD_FIELD, offsetof(Create, ring));
    expect(driver.destroy(DINGO_OP_QUERY_SRQ, srqn + 1), DINGO_ST_BAD_ID);

    test::QpOptions options;
    options.srqn = srqn + 1;
    EXPECT_THROW(driver.create_qp(shared.cq[1], shared.cq[1], options), test::AdminError);
}

TEST_P(SharedReceive, NewOneOfTheSameNumberHasNothingOfTheOld) {
    test::TwoCards probe(engine(), engine());
    NEEDS(probe.driver(0), SRQ);
    Shared shared(engine(), 2);
    test::TestDriver& driver = shared.cards.driver(1);
    for (std::uint32_t i = 0; i < 8; ++i)
        driver.post_recv(shared.srq, i, {shared.mr[1].sge(0, 64)});
    shared.send(0, 0, 8);
    EXPECT_EQ(shared.cards.wait_cq(1, shared.cq[1]).wqe_index, 0u);
    for (const test::TestQp& qp : shared.receiver)
        EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_QP, qp.qpn).status, DINGO_ST_OK);
    EXPECT_EQ(driver.destroy(DINGO_OP_DESTROY_SRQ, shared.srq.srqn).status, DINGO_ST_OK);
    // Also where the old ring was: entries that the card may have read before.
    dingo_cmd_create_srq create{};
    create.srqn = shared.srq.srqn;
    create.pdn = 1;
    create.db_page = 1;
    create.log_size = 2;
    create.log_stride = 6;
    create.ring.addr = shared.srq.ring;
    create.limit = 1;
    driver.execute_ok(DINGO_OP_CREATE_SRQ, create);
    EXPECT_EQ(shared.available(), 0u);
    shared.srq.log_size = 2;
    shared.srq.producer = 0;
    driver.post_recv(shared.srq, 100, {shared.mr[1].sge(4096, 64)});
    EXPECT_EQ(shared.available(), 1u);
    test::QpOptions options;
    options.srqn = shared.srq.srqn;
    const test::TestQp receiver = driver.create_qp(shared.cq[1], shared.cq[1], options);
    const test::TestQp sender = shared.cards.driver(0).create_qp(shared.cq[0], shared.cq[0], {});
    shared.connect(0, sender, receiver.qpn);
    shared.connect(1, receiver, sender.qpn);
    shared.sender = {sender};
    shared.send(0, 0, 8);
    const dingo_cqe cqe = shared.cards.wait_cq(1, shared.cq[1]);
    EXPECT_EQ(cqe.wqe_index, 100u);
    EXPECT_EQ(test::cqe_qpn(cqe), receiver.qpn);
    EXPECT_EQ(shared.event(shared.srq.srqn), DINGO_EV_SRQ_LIMIT);
}

}  // namespace dingo::conformance
