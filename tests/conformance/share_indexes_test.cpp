// SPDX-License-Identifier: BSD-2-Clause
//
// SHARE_INDEXES: a QP's queue indexes are in host memory, where another consumer takes receives,
// too.
#include "conformance.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(ShareIndexes);

namespace {

/// Two cards; card 1, the responder, shares the indexes of its QP.
struct Shared : Pair {
    explicit Shared(const std::string& engine, const PairOptions& options = {})
        : Pair(engine, options), addr(cards.host(1).alloc(sizeof(dingo_queue_indexes))) {}

    dingo_admin_cpl share(std::uint32_t qpn, std::uint64_t at) {
        dingo_cmd_share_indexes cmd{};
        cmd.qpn = qpn;
        cmd.addr = at;
        return driver(1).execute(DINGO_OP_SHARE_INDEXES, cmd);
    }
    void share() { EXPECT_EQ(share(qp(1).qpn, addr).status, DINGO_ST_OK); }
    dingo_queue_indexes& indexes() {
        return *reinterpret_cast<dingo_queue_indexes*>(
            cards.host(1).bytes(addr, sizeof(dingo_queue_indexes)).data());
    }
    /// Posts a receive that is announced by the indexes only.
    void post_quietly(std::uint32_t tag, std::uint64_t offset) {
        post_recv(tag, offset, 64);
        ++indexes().rq_producer;
    }

    std::uint64_t addr;
};

}  // namespace

TEST_P(ShareIndexes, BeginsWithTheQueuesAsTheyAre) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    pair.post_recv(0, 0, 64);
    pair.post_recv(1, 64, 64);
    pair.post_recv(2, 128, 64);
    EXPECT_EQ(pair.complete(pair.send(0, 8)).status, DINGO_WCS_SUCCESS);
    pair.share();
    EXPECT_EQ(pair.indexes().rq_producer, 3U);
    EXPECT_EQ(pair.indexes().rq_consumer, 1U);
    EXPECT_EQ(pair.indexes().sq_consumer, 0U);
    EXPECT_EQ(pair.wait(1).wqe_index, 0U);
    EXPECT_EQ(pair.complete(pair.send(0, 8)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).wqe_index, 1U);
    EXPECT_EQ(pair.indexes().rq_consumer, 2U);
}

TEST_P(ShareIndexes, ReceivesAreTakenWhereTheOtherConsumerHasLeftOff) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    pair.share();
    for (std::uint32_t tag = 0; tag < 4; ++tag)
        pair.post_quietly(tag, std::uint64_t{tag} * 64);
    pair.indexes().rq_consumer = 2;
    EXPECT_EQ(pair.complete(pair.send(0, 8)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).wqe_index, 2U);
    EXPECT_EQ(pair.indexes().rq_consumer, 3U);
    pair.indexes().rq_consumer = 4;
    pair.post_quietly(4, 0);
    EXPECT_EQ(pair.complete(pair.send(0, 8)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).wqe_index, 4U);
}

TEST_P(ShareIndexes, AnEntryCountsWhenTheIndexesSaySoNotByTheDoorbell) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    pair.share();
    pair.post_recv(0, 0, 64);
    pair.post(pair.send(0, 8));
    pair.cards.run_for(100'000);
    EXPECT_TRUE(pair.idle(1));
    EXPECT_GT(pair.stat(1, DINGO_CARD_OUT_OF_BUFFER), 0U);
    pair.indexes().rq_producer = 1;
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(1).wqe_index, 0U);
}

TEST_P(ShareIndexes, AConsumerOutsideTheRingIsAnEmptyQueue) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    pair.share();
    pair.post_quietly(0, 0);
    for (const std::uint32_t lie : {2U, 0x80000000U, 0xffff0000U}) {
        pair.indexes().rq_consumer = lie;
        const std::uint64_t before = pair.stat(1, DINGO_CARD_OUT_OF_BUFFER);
        pair.post(pair.send(0, 8));
        pair.cards.run_for(100'000);
        EXPECT_TRUE(pair.idle(1));
        EXPECT_GT(pair.stat(1, DINGO_CARD_OUT_OF_BUFFER), before);
        pair.indexes().rq_consumer = pair.indexes().rq_producer - 1;
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
        pair.post_quietly(0, 0);
    }
}

TEST_P(ShareIndexes, TheSendersIndexFollowsCompletionsWithAndWithoutEntry) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    dingo_cmd_share_indexes cmd{};
    cmd.qpn = pair.qp(0).qpn;
    cmd.addr = pair.cards.host(0).alloc(sizeof(dingo_queue_indexes));
    ASSERT_EQ(pair.driver(0).execute(DINGO_OP_SHARE_INDEXES, cmd).status, DINGO_ST_OK);
    const auto& indexes = *reinterpret_cast<dingo_queue_indexes*>(
        pair.cards.host(0).bytes(cmd.addr, sizeof(dingo_queue_indexes)).data());
    EXPECT_EQ(pair.complete(pair.write(0, 0, 8)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(indexes.sq_consumer, 1U);
    test::SendWr silent = pair.write(0, 0, 8);
    silent.flags = 0;
    pair.post(silent);
    pair.cards.run_for(100'000);
    EXPECT_EQ(indexes.sq_consumer, 2U);
    EXPECT_TRUE(pair.idle(0));
    EXPECT_EQ(pair.complete(pair.read(0, 0, 64)).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(indexes.sq_consumer, 3U);
}

TEST_P(ShareIndexes, TheSendersIndexFollowsDatagramsAndFlushes) {
    ENGINE_NEEDS(SHARE_INDEXES);
    for (const std::uint8_t kind : {DINGO_QPT_UD, DINGO_QPT_UC, DINGO_QPT_RC}) {
        constexpr std::uint32_t kQkey = 0x11111111;
        PairOptions options;
        options.kind(kind).connect.path.qkey = kQkey;
        Pair pair(engine(), options);
        dingo_cmd_share_indexes cmd{};
        cmd.qpn = pair.qp(0).qpn;
        cmd.addr = pair.cards.host(0).alloc(sizeof(dingo_queue_indexes));
        ASSERT_EQ(pair.driver(0).execute(DINGO_OP_SHARE_INDEXES, cmd).status, DINGO_ST_OK);
        const auto& indexes = *reinterpret_cast<dingo_queue_indexes*>(
            pair.cards.host(0).bytes(cmd.addr, sizeof(dingo_queue_indexes)).data());
        test::SendWr wr = pair.send(0, 8);
        if (kind == DINGO_QPT_UD)
            wr.ud = pair.cards.ud_to(1, pair.qp(1).qpn, kQkey);
        pair.post_recv(0, 0, 64);
        EXPECT_EQ(pair.complete(wr).status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(indexes.sq_consumer, pair.qp(0).sq_producer);
        test::SendWr bad = wr;
        bad.sges[0].lkey ^= 0x100;
        pair.post(bad);
        pair.post(wr);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_LOC_PROT_ERR);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_WR_FLUSH_ERR);
        EXPECT_EQ(indexes.sq_consumer, pair.qp(0).sq_producer);
        pair.post(wr);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_WR_FLUSH_ERR);
        EXPECT_EQ(indexes.sq_consumer, pair.qp(0).sq_producer);
    }
}

TEST_P(ShareIndexes, InErrorWhatTheOtherConsumerHasNotTakenIsFlushed) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    pair.share();
    for (std::uint32_t tag = 0; tag < 3; ++tag)
        pair.post_quietly(tag, 0);
    pair.indexes().rq_consumer = 1;
    pair.driver(1).to_state(pair.qp(1), DINGO_QPS_ERR);
    for (const std::uint32_t tag : {1U, 2U}) {
        const dingo_cqe entry = pair.wait(1);
        EXPECT_EQ(entry.status, DINGO_WCS_WR_FLUSH_ERR);
        EXPECT_EQ(entry.wqe_index, tag);
    }
    pair.cards.run_for(100'000);
    EXPECT_TRUE(pair.idle(1));
    EXPECT_EQ(pair.indexes().rq_consumer, 3U);
    // In ERR a doorbell announces more.
    ++pair.indexes().rq_producer;
    pair.post_recv(3, 0, 64);
    EXPECT_EQ(pair.wait(1).wqe_index, 3U);
}

TEST_P(ShareIndexes, RefusesWhatItCannotShare) {
    ENGINE_NEEDS(SHARE_INDEXES);
    Shared pair(engine());
    EXPECT_EQ(pair.share(DINGO_QPN_GSI, pair.addr).status, DINGO_ST_BAD_FIELD);
    EXPECT_EQ(pair.share(pair.qp(1).qpn, pair.addr + 32).status, DINGO_ST_BAD_FIELD);
    EXPECT_EQ(pair.share(pair.qp(1).qpn, 0).status, DINGO_ST_BAD_FIELD);
    EXPECT_EQ(pair.share(pair.qp(1).qpn ^ 0x10000U, pair.addr).status, DINGO_ST_BAD_ID);
    EXPECT_EQ(pair.share(pair.qp(1).qpn, std::uint64_t{1} << 60).status, DINGO_ST_BUS_ERROR);
    pair.post_recv(0, 0, 64);
    EXPECT_EQ(pair.complete(pair.send(0, 8)).status, DINGO_WCS_SUCCESS);
}

}  // namespace dingo::conformance
