// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/far_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace dingo::uverbs::test {
namespace {

using Access = FarMemory::Access;

class Reads : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kAt = 0x1000;

    Access read(std::uint64_t message, std::uint64_t addr, std::size_t bytes, std::uint64_t ahead) {
        data.assign(bytes, std::byte{});
        return reads.read(message, addr, data, ahead, fetch);
    }
    bool prefetch(std::uint64_t message, std::uint64_t addr, std::uint64_t bytes) {
        return reads.prefetch(message, addr, bytes, fetch);
    }
    /// Completes the pieces in progress, with all bytes `value`.
    void arrive(std::byte value) {
        for (const auto& piece : pieces) {
            if (piece->state == FetchedPiece::State::kFetching) {
                piece->bytes = FarBuffer(piece->length);
                piece->bytes.append(std::vector<std::byte>(piece->length, value));
                piece->state = FetchedPiece::State::kHere;
            }
        }
    }

    FarReads reads;
    std::vector<std::shared_ptr<FetchedPiece>> pieces;
    std::vector<std::byte> data;
    bool refuse = false;
    const FarReads::Fetch fetch = [this](const auto& piece, std::uint64_t) {
        if (refuse)
            return false;
        piece->room = room;
        pieces.push_back(piece);
        return true;
    };
    std::shared_ptr<void> room = std::make_shared<int>();
};

TEST_F(Reads, MessageIsFetchedAheadAndNotBeyondItsEnd) {
    constexpr std::uint64_t kLength = 1'000'000;
    EXPECT_EQ(read(1, kAt, 4'096, kLength), Access::kLater);
    EXPECT_EQ(pieces.size(), 1U + FarReads::kAhead);
    arrive(std::byte{1});
    for (std::uint64_t at = 0; at < kLength; at += 4'096) {
        const std::uint64_t bytes = std::min<std::uint64_t>(4'096, kLength - at);
        Access access = read(1, kAt + at, bytes, kLength - at);
        if (access == Access::kLater) {
            arrive(std::byte{1});
            access = read(1, kAt + at, bytes, kLength - at);
        }
        ASSERT_EQ(access, Access::kDone);
        ASSERT_EQ(data, std::vector<std::byte>(bytes, std::byte{1}));
    }
    std::uint64_t end = kAt;
    for (const auto& piece : pieces) {
        EXPECT_EQ(piece->addr, end) << "no byte twice";
        end += piece->length;
    }
    EXPECT_EQ(end, kAt + kLength);
}

TEST_F(Reads, WhatIsHereIsReferredToAndStays) {
    const auto no_more = [](const auto&, std::uint64_t) { return false; };
    Elsewhere where;
    EXPECT_FALSE(reads.refer(1, kAt, 4'096, 20'000, where, no_more)) << "nobody has asked for it";
    EXPECT_EQ(read(1, kAt, 4'096, 20'000), Access::kLater);
    EXPECT_FALSE(reads.refer(1, kAt, 4'096, 20'000, where, no_more)) << "it is on its way";
    arrive(std::byte{1});
    EXPECT_FALSE(reads.refer(1, kAt + 18'000, 4'096, 4'096, where, no_more)) << "not all of it";
    EXPECT_TRUE(reads.refer(1, kAt + 4'096, 15'904, 15'904, where, no_more));
    EXPECT_EQ(where.at, pieces[0]->bytes.bytes().data() + 4'096);
    EXPECT_EQ(where.held, pieces[0]);
    EXPECT_EQ(read(1, kAt, 4'096, 4'096), Access::kLater) << "its end was used: it is gone here";
    const std::weak_ptr<FetchedPiece> piece = pieces[0];
    pieces.clear();
    EXPECT_FALSE(reads.refer(2, kAt, 64, 64, where, no_more)) << "another message";
    EXPECT_EQ(where.at[15'903], std::byte{1});
    where = {};
    EXPECT_TRUE(piece.expired());
}

TEST_F(Reads, MessageThatComesIsFetchedMeanwhile) {
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kLater);
    EXPECT_TRUE(prefetch(2, kAt, 100));
    EXPECT_TRUE(prefetch(3, kAt, 200));
    EXPECT_TRUE(prefetch(3, kAt + 8'192, 300));
    EXPECT_TRUE(prefetch(3, kAt, 200)) << "it is";
    EXPECT_EQ(pieces.size(), 4U);
    EXPECT_TRUE(reads.is_fetching());
    pieces[1]->state = FetchedPiece::State::kFailed;  // must not affect the others
    arrive(std::byte{7});
    EXPECT_FALSE(reads.is_fetching());
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kDone);
    EXPECT_EQ(read(2, kAt, 100, 100), Access::kError);
    EXPECT_EQ(read(3, kAt, 200, 200), Access::kDone);
    EXPECT_EQ(read(3, kAt + 8'192, 300, 300), Access::kDone);
    EXPECT_EQ(data, std::vector<std::byte>(300, std::byte{7}));
    EXPECT_EQ(pieces.size(), 4U) << "nothing is fetched twice";
}

TEST_F(Reads, WhatWasFetchedForAMessageThatIsPassedGoes) {
    EXPECT_TRUE(prefetch(2, kAt, 100));
    EXPECT_TRUE(prefetch(3, kAt, 100));
    arrive(std::byte{1});
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kLater) << "as a repetition: what comes stays";
    EXPECT_EQ(read(3, kAt, 64, 64), Access::kDone);
    const std::weak_ptr<FetchedPiece> passed = pieces[0];
    pieces.clear();
    EXPECT_TRUE(passed.expired());
    EXPECT_EQ(read(2, kAt, 64, 64), Access::kLater);
}

TEST_F(Reads, NoMoreIsFetchedAheadThanSomeMessagesAndBytes) {
    for (std::uint64_t message = 1; message <= FarReads::kMostComing; ++message)
        EXPECT_TRUE(prefetch(message, kAt, 64));
    EXPECT_FALSE(prefetch(99, kAt, 64));
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kLater);
    EXPECT_TRUE(prefetch(99, kAt, 64)) << "one has begun";
    FarReads others;
    std::swap(reads, others);
    std::uint64_t bytes = 0;
    for (std::uint64_t message = 1; prefetch(message, kAt, 1 << 20); ++message)
        bytes += pieces.back()->length;
    EXPECT_EQ(bytes, FarReads::kMostComingBytes);
    refuse = true;
    FarReads none;
    std::swap(reads, none);
    EXPECT_FALSE(prefetch(1, kAt, 64)) << "no room";
    refuse = false;
    EXPECT_TRUE(prefetch(1, kAt, 64));
}

TEST_F(Reads, MessageThatComesCannotCome) {
    EXPECT_TRUE(prefetch(2, kAt, 100));
    reads.fail([](const auto&) { return true; });
    EXPECT_EQ(read(2, kAt, 64, 64), Access::kError);
}

TEST_F(Reads, AnotherMessageSeesNothingOfIt) {
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kLater);
    arrive(std::byte{1});
    EXPECT_EQ(read(2, kAt, 64, 64), Access::kLater);
    arrive(std::byte{2});
    EXPECT_EQ(read(2, kAt, 64, 64), Access::kDone);
    EXPECT_EQ(data[0], std::byte{2});
}

TEST_F(Reads, RangeOverTwoPiecesIsWhole) {
    EXPECT_EQ(read(1, kAt, 64, FarReads::kFirst + 100), Access::kLater);
    arrive(std::byte{3});
    EXPECT_EQ(read(1, kAt + FarReads::kFirst - 50, 100, 150), Access::kDone);
    EXPECT_EQ(data, std::vector<std::byte>(100, std::byte{3}));
}

// One packet of a message in many small places: fetched pieces stay until all are present.
TEST_F(Reads, ManyPlacesOfOneMessageAreAllKept) {
    for (int round = 0; round < 2; ++round) {
        unsigned done = 0;
        for (std::uint64_t i = 0; i < 30; ++i)
            done += read(1, kAt + (30 - i) * 1'000, 16, 16) == Access::kDone ? 1 : 0;
        EXPECT_EQ(done, round * 30U);
        arrive(std::byte{4});
    }
}

TEST_F(Reads, WhatWasReadIsNotKept) {
    constexpr std::uint64_t kLength = 4 << 20;
    for (std::uint64_t at = 0; at < kLength; at += 4'096) {
        while (read(1, kAt + at, 4'096, kLength - at) != Access::kDone)
            arrive(std::byte{1});
        std::erase_if(pieces, [](const auto& piece) { return piece.use_count() == 1; });
        ASSERT_LE(pieces.size(), 1U + FarReads::kAhead);
    }
    EXPECT_TRUE(pieces.empty());
}

// A packet with the end of a large place and the beginning of another, requested repeatedly.
TEST_F(Reads, EndOfALargePlaceIsFetchedOnceMore) {
    EXPECT_EQ(read(1, kAt, 64, 10'000), Access::kLater);
    arrive(std::byte{1});
    unsigned rounds = 0;
    for (Access access = Access::kLater; access != Access::kDone && rounds < 10; ++rounds) {
        access = read(1, kAt + 9'000, 1'000, 1'000);
        if (access == Access::kDone)
            access = read(1, 0x100, 64, 64);
        if (access == Access::kLater)
            arrive(std::byte{2});
    }
    EXPECT_LT(rounds, 5U);
}

TEST_F(Reads, WithoutRoomOnlyWhatIsNeededIsKept) {
    room.reset();
    for (std::uint64_t at = 0; at < 1 << 20; at += 4'096) {
        while (read(1, kAt + at, 4'096, 4'096) != Access::kDone)
            arrive(std::byte{1});
        std::erase_if(pieces, [](const auto& piece) { return piece.use_count() == 1; });
        ASSERT_LE(pieces.size(), FarReads::kMostWithoutRoom / FarReads::kPacket);
    }
}

TEST_F(Reads, RefusedFailedAndForgotten) {
    refuse = true;
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kLater);
    refuse = false;
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kLater);
    EXPECT_TRUE(reads.is_fetching());
    reads.fail([](const FetchedPiece&) { return true; });
    EXPECT_FALSE(reads.is_fetching());
    EXPECT_EQ(read(1, kAt, 64, 64), Access::kError);
    for (std::uint64_t i = 0; i < 1'000; ++i)
        read(2, kAt + i * FarReads::kPiece, 64, FarReads::kPiece);
    pieces.clear();
    EXPECT_EQ(read(2, kAt, 64, 64), Access::kLater) << "what is old is not kept for ever";
}

}  // namespace
}  // namespace dingo::uverbs::test
