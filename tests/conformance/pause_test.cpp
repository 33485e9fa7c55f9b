// SPDX-License-Identifier: BSD-2-Clause
//
// PAUSE_MR during traffic: after its completion the card neither reads nor writes the region's
// memory; requests that need it wait, continue in the new memory after REREG_MR, or are flushed.
// Other QPs and regions are not affected.
#include "conformance.h"

namespace dingo::conformance {
namespace {

constexpr std::uint8_t kScribble = 0xEE;
constexpr Nanoseconds kLong = 20'000'000;

/// A connection whose regions can be paused and moved.
struct Moving : Pair {
    explicit Moving(const std::string& engine, const PairOptions& options) : Pair(engine, options) {
        cards.budget = {1, 1};  // otherwise a card would finish before the pause
    }

    /// Pauses the region and overwrites its memory; `content` keeps the old content.
    void pause(unsigned card) {
        ASSERT_EQ(pause_at_once(cards, card, mr[card].key).status, DINGO_ST_OK);
        const auto old = bytes(card, 0, mr[card].length);
        content.assign(old.begin(), old.end());
        std::ranges::fill(old, std::byte{kScribble});
    }
    /// Returns true if the memory was not written since.
    bool untouched(unsigned card) {
        return std::ranges::all_of(bytes(card, 0, mr[card].length),
                                   [](std::byte b) { return b == std::byte{kScribble}; });
    }
    /// Moves the region to other memory, with its old content.
    void move(unsigned card) {
        EXPECT_TRUE(untouched(card)) << "written through a paused region";
        cards.step();  // so that the command finds the card at the current time
        mr[card].bus = cards.host(card).alloc(mr[card].length);
        std::ranges::copy(content, bytes(card, 0, mr[card].length).begin());
        driver(card).move_mr(mr[card], mr[card].bus, kAllAccess);
    }
    /// Runs until the card has sent `n` more frames.
    void run_until_sent(unsigned card, unsigned n) {
        unsigned seen = 0;
        cards.link.tap = [&](const test::Frame& frame) { seen += frame.from == card ? 1 : 0; };
        EXPECT_TRUE(cards.run_until([&] { return seen >= n; }));
        cards.link.tap = nullptr;
    }
    /// Expects that nothing completes for a long time.
    void expect_waiting() {
        cards.run_for(kLong);
        EXPECT_TRUE(idle(0));
        EXPECT_EQ(state(0), DINGO_QPS_RTS);
        EXPECT_EQ(state(1), DINGO_QPS_RTS);
    }

    std::vector<std::byte> content;
};

/// A second connection with its own regions.
struct Other {
    explicit Other(Pair& pair) : cards(pair.cards), link(pair.cards.connect()) {
        for (unsigned card = 0; card < 2; ++card)
            mr[card] = cards.driver(card).create_mr(1U << 16, kAllAccess);
    }
    std::uint8_t complete(std::uint8_t opcode, std::uint32_t length) {
        test::SendWr wr;
        wr.opcode = opcode;
        wr.sges = {mr[0].sge(0, length)};
        wr.raddr = mr[1].iova;
        wr.rkey = mr[1].key;
        cards.driver(0).post_send(link.qp[0], wr);
        return cards.wait_cq(0, link.cq[0]).status;
    }
    test::TwoCards& cards;
    test::TwoCards::Connection link;
    std::array<test::Mr, 2> mr;
};

PairOptions small_region() {
    PairOptions options;
    options.bytes = 1U << 16;
    return options;
}

constexpr std::uint32_t kBytes = 60'000;

}  // namespace

CONFORMANCE_SUITE(PauseMr);

TEST_P(PauseMr, RefusesWhatIsNoRegion) {
    test::OneCard card(engine());
    NEEDS(card.driver, PAUSE_MR);
    card.driver.start();
    const test::Mr region = card.driver.create_mr(4096, kAllAccess);
    const test::Mr fast = card.driver.create_key(DINGO_MRT_FRWR, 4096);
    const auto pause = [&](std::uint32_t key) {
        return card.driver.destroy(DINGO_OP_PAUSE_MR, key).status;
    };
    EXPECT_EQ(pause(fast.key), DINGO_ST_BAD_STATE);
    EXPECT_EQ(pause(card.driver.next_key()), DINGO_ST_BAD_ID);
    EXPECT_EQ(pause(region.key ^ 0x100), DINGO_ST_BAD_ID);
    EXPECT_EQ(pause(0xFFFF'0000), DINGO_ST_BAD_ID);
    dingo_cmd_destroy command{};
    command.id = region.key;
    command.rsvd = 1;
    const dingo_admin_cpl refused = card.driver.execute(DINGO_OP_PAUSE_MR, command);
    EXPECT_EQ(refused.status, DINGO_ST_BAD_FIELD);
    EXPECT_EQ(refused.detail, offsetof(dingo_cmd_destroy, rsvd));
    EXPECT_EQ(pause(region.key ^ 1), DINGO_ST_OK) << "the low 8 bits are the owner's";
    EXPECT_EQ(pause(region.key), DINGO_ST_OK) << "twice is once";
    EXPECT_EQ(card.driver.destroy(DINGO_OP_DESTROY_MR, region.key).status, DINGO_ST_OK);
    EXPECT_EQ(pause(region.key), DINGO_ST_BAD_ID);
}

TEST_P(PauseMr, WriteIsStoppedHalfwayAndGoesOnInTheNewPlace) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(1), PAUSE_MR);
    pair.fill(0, 0, kBytes, 1);
    pair.post(pair.write(0, 0, kBytes));
    pair.run_until_sent(0, 10);
    pair.pause(1);
    pair.expect_waiting();
    EXPECT_GT(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 0U);
    pair.move(1);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, kBytes));
}

TEST_P(PauseMr, ReadResponseIsStoppedHalfwayAndGoesOnInTheNewPlace) {
    for (const std::uint8_t timeout : {18, 10}) {
        PairOptions options = small_region();
        options.timeout(timeout, 0);
        Moving pair(engine(), options);
        NEEDS(pair.driver(1), PAUSE_MR);
        pair.fill(1, 0, kBytes, 2);
        pair.post(pair.read(0, 0, kBytes));
        pair.run_until_sent(1, 3);
        pair.pause(1);
        pair.expect_waiting();
        EXPECT_GT(pair.stat(1, DINGO_CARD_RNR_NAK_SENT), 0U);
        pair.move(1);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, kBytes)) << "read while it was paused";
    }
}

TEST_P(PauseMr, ReadOfAPausedRegionWaits) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(1), PAUSE_MR);
    pair.fill(1, 0, kBytes, 3);
    pair.pause(1);
    pair.post(pair.read(0, 0, kBytes));
    pair.expect_waiting();
    pair.move(1);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, kBytes));
}

TEST_P(PauseMr, LocalWorkIsStoppedHalfwayAndGoesOnInTheNewPlace) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(0), PAUSE_MR);
    pair.fill(0, 0, kBytes, 4);
    pair.post(pair.write(0, 0, kBytes));
    pair.run_until_sent(0, 5);
    pair.pause(0);
    pair.expect_waiting();
    pair.move(0);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 0, kBytes)) << "read while it was paused";
    pair.pause(0);
    pair.post(pair.write(0, 0, 100));
    pair.expect_waiting();
    pair.move(0);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
}

TEST_P(PauseMr, ReadIntoAPausedRegionIsRepeatedWithoutUsingRetriesOrATimer) {
    for (const std::uint8_t timeout : {10, 0}) {
        PairOptions options = small_region();
        options.timeout(timeout, 0);
        Moving pair(engine(), options);
        NEEDS(pair.driver(0), PAUSE_MR);
        pair.fill(1, 0, kBytes, 5);
        pair.post(pair.read(0, 0, kBytes));
        pair.post(pair.write(kBytes, kBytes, 100));
        pair.run_until_sent(1, 5);
        pair.pause(0);
        pair.expect_waiting();
        EXPECT_EQ(pair.stat(0, DINGO_CARD_RETRANSMITS), 0U) << "data are requested in vain";
        pair.move(0);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, kBytes));
    }
}

TEST_P(PauseMr, DataForARegionThatGoesWhileItIsPausedEndInAnError) {
    for (const bool atomic : {false, true}) {
        PairOptions options = small_region();
        options.timeout(0);
        Moving pair(engine(), options);
        NEEDS(pair.driver(0), PAUSE_MR);
        pair.post(atomic ? pair.fetch_add(8, 64, 5) : pair.read(0, 0, kBytes));
        pair.run_until_sent(0, 1);
        pair.pause(0);
        pair.expect_waiting();
        ASSERT_EQ(pair.driver(0).destroy(DINGO_OP_DESTROY_MR, pair.mr[0].key).status, DINGO_ST_OK);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_LOC_PROT_ERR);
    }
}

TEST_P(PauseMr, SendIsStoppedHalfwayAndCompletesOnce) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(1), PAUSE_MR);
    pair.fill(0, 0, kBytes, 6);
    pair.post_recv(77, 0, kBytes);
    pair.post(pair.send(0, kBytes));
    pair.run_until_sent(0, 5);
    pair.pause(1);
    pair.expect_waiting();
    EXPECT_TRUE(pair.idle(1));
    pair.move(1);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    const dingo_cqe cqe = pair.wait(1);
    EXPECT_EQ(cqe.wqe_index, 77U);
    EXPECT_EQ(cqe.byte_len, kBytes);
    EXPECT_TRUE(pair.same(0, 0, kBytes));
    EXPECT_TRUE(pair.idle(1));
}

TEST_P(PauseMr, AtomicsAreDoneOnce) {
    for (const unsigned card : {0U, 1U}) {
        Moving pair(engine(), small_region());
        NEEDS(pair.driver(card), PAUSE_MR);
        const std::uint64_t before = 100;
        std::memcpy(pair.bytes(1, 64, 8).data(), &before, sizeof before);
        pair.post(pair.fetch_add(8, 64, 5));
        if (card == 0)
            pair.run_until_sent(0, 1);
        pair.pause(card);
        pair.expect_waiting();
        pair.move(card);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        std::uint64_t word = 0;
        std::memcpy(&word, pair.bytes(1, 64, 8).data(), sizeof word);
        EXPECT_EQ(word, 105U);
        std::memcpy(&word, pair.bytes(0, 8, 8).data(), sizeof word);
        EXPECT_EQ(word, before);
    }
}

TEST_P(PauseMr, OthersGoOnMeanwhile) {
    for (const unsigned card : {0U, 1U}) {
        Moving pair(engine(), small_region());
        NEEDS(pair.driver(card), PAUSE_MR);
        Other other(pair);
        pair.fill(0, 0, kBytes, 7);
        pair.pause(card);
        pair.post(pair.write(0, 0, kBytes));
        pair.post(pair.read(0, 0, 1000));
        for (const std::uint8_t opcode : {DINGO_WR_WRITE, DINGO_WR_READ, DINGO_WR_WRITE})
            EXPECT_EQ(other.complete(opcode, 10'000), DINGO_WCS_SUCCESS);
        pair.expect_waiting();
        pair.move(card);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.same(0, 0, kBytes));
    }
}

TEST_P(PauseMr, WhatWaitsIsFlushedAndTheQueuePairCanGo) {
    for (const unsigned card : {0U, 1U}) {
        Moving pair(engine(), small_region());
        NEEDS(pair.driver(card), PAUSE_MR);
        pair.post(pair.read(0, 0, kBytes));
        pair.run_until_sent(1, 2);
        pair.pause(card);
        pair.post(pair.write(0, 0, 1000));
        pair.post_recv(5, 0, 100);
        pair.expect_waiting();
        for (const unsigned side : {0U, 1U})
            pair.driver(side).to_state(pair.qp(side), DINGO_QPS_ERR);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_WR_FLUSH_ERR);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_WR_FLUSH_ERR);
        EXPECT_EQ(pair.wait(1).status, DINGO_WCS_WR_FLUSH_ERR);
        for (const unsigned side : {0U, 1U})
            EXPECT_EQ(pair.driver(side).destroy(DINGO_OP_DESTROY_QP, pair.qp(side).qpn).status,
                      DINGO_ST_OK);
        pair.move(card);
        EXPECT_EQ(Other(pair).complete(DINGO_WR_WRITE, 1000), DINGO_WCS_SUCCESS);
    }
}

TEST_P(PauseMr, QueuePairThatIsResetWhileItWaitsWorksAgain) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(0), PAUSE_MR);
    pair.pause(0);
    pair.post(pair.write(0, 0, 1000));
    pair.expect_waiting();
    for (const unsigned side : {0U, 1U}) {
        pair.driver(side).to_state(pair.qp(side), DINGO_QPS_RESET);
        pair.qp(side).sq_producer = pair.qp(side).rq_producer = 0;
        test::TestDriver::PathOptions path = pair.cards.path_to(1 - side, pair.qp(1 - side).qpn);
        pair.driver(side).bring_up(pair.qp(side), path);
    }
    pair.move(0);
    pair.fill(0, 0, 1000, 8);
    EXPECT_EQ(pair.complete(pair.write(0, 2000, 1000)).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.same(0, 2000, 1000));
    EXPECT_TRUE(pair.idle(0));
}

TEST_P(PauseMr, RegionThatGoesEndsTheWaitWithAnError) {
    {
        Moving pair(engine(), small_region());
        NEEDS(pair.driver(0), PAUSE_MR);
        pair.pause(0);
        pair.post(pair.write(0, 0, 1000));
        pair.expect_waiting();
        ASSERT_EQ(pair.driver(0).destroy(DINGO_OP_DESTROY_MR, pair.mr[0].key).status, DINGO_ST_OK);
        EXPECT_EQ(pair.wait().status, DINGO_WCS_LOC_PROT_ERR);
    }
    PairOptions options = small_region();
    options.timeout(18);
    Moving pair(engine(), options);
    pair.post(pair.read(0, 0, kBytes));
    pair.run_until_sent(1, 2);
    pair.pause(1);
    pair.expect_waiting();
    ASSERT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, pair.mr[1].key).status, DINGO_ST_OK);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_REM_ACCESS_ERR);
}

TEST_P(PauseMr, WindowsArePausedWithTheirRegion) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(1), PAUSE_MR);
    NEEDS(pair.driver(1), MW);
    const test::Mr window = pair.driver(1).create_key(DINGO_MRT_MW1);
    test::SendWr bind;
    bind.opcode = DINGO_WR_BIND_MW;
    bind.bind.addr = pair.mr[1].iova + 4096;
    bind.bind.length = 4096;
    bind.bind.mr_key = pair.mr[1].key;
    bind.bind.mw_key = window.key;
    bind.bind.new_key = window.key + 1;
    bind.bind.access = DINGO_ACC_REMOTE_WRITE;
    pair.driver(1).post_send(pair.qp(1), bind);
    ASSERT_EQ(pair.wait(1).status, DINGO_WCS_SUCCESS);
    pair.pause(1);
    test::SendWr wr = pair.write(0, 4096, 100);
    wr.rkey = window.key + 1;
    pair.post(wr);
    pair.expect_waiting();
    EXPECT_TRUE(pair.untouched(1));
    ASSERT_EQ(pair.driver(1).destroy(DINGO_OP_DESTROY_MR, window.key + 1).status, DINGO_ST_OK);
    EXPECT_EQ(pair.wait().status, DINGO_WCS_REM_ACCESS_ERR);
    pair.move(1);  // no window prevents it
}

TEST_P(PauseMr, RegionThatIsPausedAgainAndAgainLosesNothing) {
    Moving pair(engine(), small_region());
    NEEDS(pair.driver(1), PAUSE_MR);
    pair.fill(0, 0, kBytes, 9);
    pair.fill(1, 0, kBytes, 9);
    for (unsigned round = 0; round < effort(60, 24); ++round) {
        const unsigned card = round & 1;
        pair.post(round % 3 == 0 ? pair.read(0, 0, kBytes) : pair.write(0, 0, kBytes));
        pair.run_until_sent(round % 3 == 0 ? 1 : 0, 1 + round % 7);
        pair.pause(card);
        pair.cards.run_for(50'000 * (round % 4));
        pair.move(card);
        ASSERT_EQ(pair.wait().status, DINGO_WCS_SUCCESS) << "round " << round;
        ASSERT_TRUE(pair.same(0, 0, kBytes)) << "round " << round;
    }
}

}  // namespace dingo::conformance
