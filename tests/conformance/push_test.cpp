// SPDX-License-Identifier: BSD-2-Clause
//
// Push pages: send WQEs that are written to the card before their doorbell.
#include <random>

#include "conformance.h"
#include "faults.h"

namespace dingo::conformance {

CONFORMANCE_SUITE(Push);

namespace {

using Blocks = std::vector<std::byte>;

/// Two cards; card 0 posts via its push page.
struct Pusher : Pair {
    explicit Pusher(const std::string& engine, const PairOptions& options = {})
        : Pair(engine, options) {}

    [[nodiscard]] test::SendWr inline_write(std::uint64_t remote, std::uint32_t length,
                                            std::uint8_t seed) const {
        test::SendWr wr = write(0, remote, length);
        wr.sges.clear();
        wr.force_inline = true;
        for (std::uint32_t i = 0; i < length; ++i)
            wr.inline_data.push_back(static_cast<std::byte>(seed + i));
        return wr;
    }
    bool arrived(std::uint64_t remote, const test::SendWr& wr) {
        return std::ranges::equal(bytes(1, remote, wr.inline_data.size()), wr.inline_data);
    }
    /// Writes `blocks` blocks that are no valid WQE into the ring at the producer.
    void post_garbage(std::size_t blocks) {
        driver(0).post_blocks(qp(0), Blocks(blocks * DINGO_SQ_BLOCK, std::byte{0xee}), false);
    }
    void push(const Blocks& blocks) { driver(0).store_push(qp(0).db_page, blocks); }
    void ring(std::size_t blocks) {
        driver(0).ring_pushed(qp(0), static_cast<std::uint32_t>(blocks));
    }
    void post_pushed(const test::SendWr& wr) { driver(0).post_pushed(qp(0), wr); }
    std::uint64_t dropped() { return stat(0, DINGO_CARD_DB_DROPPED); }
};

}  // namespace

TEST_P(Push, TheBlocksNeedNotBeReadFromTheRing) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    for (const std::uint32_t length : {8U, 0U, 32U, 33U, 96U, 224U}) {
        const test::SendWr wr = pair.inline_write(4096, length, static_cast<std::uint8_t>(length));
        const Blocks blocks = encode(wr, false);
        const std::size_t count = blocks.size() / DINGO_SQ_BLOCK;
        ASSERT_LE(count, std::size_t{DINGO_PUSH_BLOCKS});
        pair.post_garbage(count);
        pair.push(blocks);
        pair.ring(count);
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS) << length;
        EXPECT_TRUE(pair.arrived(4096, wr)) << length;
    }
}

TEST_P(Push, SeveralRequestsOfOneDoorbell) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    Blocks blocks;
    std::vector<test::SendWr> requests;
    for (std::uint8_t i = 0; i < DINGO_PUSH_BLOCKS; ++i) {
        requests.push_back(pair.inline_write(64 * i, 16, static_cast<std::uint8_t>(16 * i + 1)));
        std::ranges::copy(encode(requests.back(), false), std::back_inserter(blocks));
    }
    pair.post_garbage(DINGO_PUSH_BLOCKS);
    pair.push(blocks);
    pair.ring(DINGO_PUSH_BLOCKS);
    for (std::uint8_t i = 0; i < DINGO_PUSH_BLOCKS; ++i) {
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.arrived(64 * i, requests[i]));
    }
}

TEST_P(Push, WhatWasNotPushedComesFromTheRing) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    const test::SendWr first = pair.inline_write(0, 16, 1);
    const test::SendWr second = pair.inline_write(64, 16, 101);
    pair.driver(0).post_send(pair.qp(0), first, false);
    pair.post_pushed(second);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.arrived(0, first));
    EXPECT_TRUE(pair.arrived(64, second));
}

TEST_P(Push, ADoorbellThatSaysNothingNewTakesNothing) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    const test::SendWr first = pair.inline_write(0, 16, 1);
    const test::SendWr second = pair.inline_write(64, 16, 101);
    EXPECT_EQ(pair.complete(first).status, DINGO_WCS_SUCCESS);
    pair.push(Blocks(DINGO_PUSH_BYTES, std::byte{0xee}));
    pair.ring(2);
    EXPECT_EQ(pair.complete(second).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.arrived(0, first));
    EXPECT_TRUE(pair.arrived(64, second));
}

TEST_P(Push, APageThatIsWrittenAgainDoesNoHarm) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    std::vector<test::SendWr> requests;
    for (std::uint8_t i = 0; i < 32; ++i) {
        requests.push_back(pair.inline_write(256 * i, 40, static_cast<std::uint8_t>(7 * i)));
        pair.post_pushed(requests.back());
    }
    pair.push(Blocks(DINGO_PUSH_BYTES, std::byte{0xee}));
    for (std::uint8_t i = 0; i < 32; ++i) {
        EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(pair.arrived(256 * i, requests[i])) << unsigned{i};
    }
}

TEST_P(Push, AResetForgetsWhatWasPushed) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    pair.post_pushed(pair.inline_write(0, 16, 1));
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
    pair.cards.reconnect(pair.link, {});
    const test::SendWr again = pair.inline_write(0, 16, 77);
    EXPECT_EQ(pair.complete(again).status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(pair.arrived(0, again));
}

TEST_P(Push, ADoorbellWithMoreThanThePageHasIsDropped) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    const test::SendWr wr = pair.inline_write(0, 16, 1);
    pair.driver(0).post_send(pair.qp(0), wr, false);
    const std::uint64_t before = pair.dropped();
    for (std::uint32_t blocks = DINGO_PUSH_BLOCKS + 1; blocks < 8; ++blocks)
        pair.ring(blocks);
    pair.cards.run_for(100'000);
    EXPECT_EQ(pair.dropped(), before + 7 - DINGO_PUSH_BLOCKS);
    EXPECT_TRUE(pair.idle(0));
    pair.driver(0).ring_sq(pair.qp(0));
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_P(Push, WithoutAPushPageADoorbellThatNamesBlocksIsDropped) {
    ENGINE_NEEDS(PUSH);
    PairOptions options;
    options.connect.qp.db_page = test::OneCard(engine()).driver.read32(DINGO_REG_PUSH_PAGES);
    Pusher pair(engine(), options);
    pair.driver(0).post_send(pair.qp(0), pair.inline_write(0, 16, 1), false);
    const std::uint64_t before = pair.dropped();
    pair.ring(1);
    EXPECT_EQ(pair.dropped(), before + 1);
    pair.driver(0).ring_sq(pair.qp(0));
    EXPECT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS);
}

TEST_P(Push, OnlyAsMuchOfAPageIsMemory) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    const std::uint64_t page =
        (std::uint64_t{pair.driver(0).read32(DINGO_REG_DB_PAGES)} + pair.qp(0).db_page) *
        DINGO_DB_PAGE_SIZE;
    const std::uint64_t before = pair.stat(0, DINGO_CARD_MMIO_DROPPED);
    Engine& card = pair.driver(0).engine();
    card.mmio_write(Bar::kDoorbells, page + DINGO_PUSH_BYTES, 1, 8);
    card.mmio_write(Bar::kDoorbells, page + DINGO_DB_PAGE_SIZE - 8, 1, 8);
    EXPECT_EQ(pair.stat(0, DINGO_CARD_MMIO_DROPPED), before + 2);
    EXPECT_EQ(card.mmio_read(Bar::kDoorbells, page, 8), 0U);
}

TEST_P(Push, NoneBesideDoorbellsInMemory) {
    test::OneCard card(engine());
    const std::uint64_t caps = card.driver.read64(DINGO_REG_CAPS);
    const std::uint32_t pages = card.driver.read32(DINGO_REG_PUSH_PAGES);
    EXPECT_EQ((caps & DINGO_CAP_PUSH) != 0, pages != 0);
    EXPECT_LE(pages, card.driver.read32(DINGO_REG_DB_PAGES));
    EXPECT_TRUE((caps & DINGO_CAP_DB_MEMORY) == 0 || pages == 0);
}

TEST_P(Push, EveryByteUnderLossWhateverIsPushed) {
    ENGINE_NEEDS(PUSH);
    Pusher pair(engine());
    WireFaults faults(pair.cards);
    faults.add_random({.drop = 0.02, .seed = 5});
    std::mt19937_64 random(3);
    for (unsigned round = 0; round < effort(400, 30); ++round) {
        const std::uint64_t count = 1 + random() % 6;
        std::vector<test::SendWr> requests;
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto length = static_cast<std::uint32_t>(1 + random() % 224);
            requests.push_back(
                pair.inline_write(256 * i, length, static_cast<std::uint8_t>(random())));
            if (random() % 4 == 0)
                pair.post(requests.back());
            else
                pair.post_pushed(requests.back());
        }
        for (std::uint64_t i = 0; i < count; ++i)
            ASSERT_EQ(pair.wait(0).status, DINGO_WCS_SUCCESS) << round;
        for (std::uint64_t i = 0; i < count; ++i)
            ASSERT_TRUE(pair.arrived(256 * i, requests[i])) << round << ' ' << i;
    }
}

}  // namespace dingo::conformance
