// SPDX-License-Identifier: BSD-2-Clause
#include "base/offenders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <span>

namespace dingo {
namespace {

using Verdict = Offenders::Verdict;

constexpr std::size_t kBytes = 16 * 4096;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLong = 2 * Offenders::kFree;

/// Shared memory of a client. Its pages are not there before they are touched.
struct Mapped {
    Mapped() {
        file = ::memfd_create("offenders", MFD_CLOEXEC);
        EXPECT_EQ(::ftruncate(file, kBytes), 0);
        bytes = {static_cast<std::byte*>(
                     ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)),
                 kBytes};
    }
    ~Mapped() {
        ::munmap(bytes.data(), kBytes);
        ::close(file);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    void touch() const { std::memset(bytes.data(), 1, kBytes); }
    void punch() const {
        EXPECT_EQ(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes), 0);
    }
    int file;
    std::span<std::byte> bytes;
};

class OffendersTest : public ::testing::Test {
  protected:
    Verdict held(std::uint64_t ns) {
        return all.held(one.bytes.data(), other.bytes.data(), kBytes, ns, now);
    }

    Offenders all;
    Mapped one, other;
    std::shared_ptr<Account> bad = std::make_shared<Account>(true, 1001);
    std::shared_ptr<Account> good = std::make_shared<Account>(false, 1002);
    std::uint64_t now = 10 * kSecond;
};

TEST_F(OffendersTest, OwnerOfTheMissingPageIsCharged) {
    all.add(one.bytes, {{bad, 7, nullptr}});
    all.add(other.bytes, {{good, 8, nullptr}});
    one.touch();
    other.touch();
    one.punch();
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_TRUE(all.is_far(1001, now));
    EXPECT_FALSE(all.is_far(1002, now));
    EXPECT_EQ(all.held_by(good), 0U);
    EXPECT_EQ(all.held_by(bad), kLong);
    ASSERT_EQ(all.since(1).size(), 1U);
    EXPECT_EQ(all.since(1)[0].owner.pid, 7);
    EXPECT_TRUE(all.since(2).empty());
    EXPECT_FALSE(all.is_shut_out(*bad, now)) << "it was not its queues";
    // The other side of the copy.
    one.touch();
    other.punch();
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_TRUE(all.is_far(1002, now));
}

TEST_F(OffendersTest, NobodyIsChargedWhereItIsNotClear) {
    const auto id = all.add(one.bytes, {{bad, 7, nullptr}});
    all.add(other.bytes, {{good, 8, nullptr}});
    EXPECT_TRUE(all.has(bad, one.bytes.data() + kBytes - 1));
    EXPECT_FALSE(all.has(good, one.bytes.data()));
    EXPECT_EQ(held(kLong), Verdict::kMay) << "pages of both are missing";
    one.touch();
    other.touch();
    EXPECT_EQ(held(kLong), Verdict::kMay) << "no page is missing";
    one.punch();
    all.remove(id);
    EXPECT_EQ(held(kLong), Verdict::kMay) << "it is nobody's";
    EXPECT_EQ(all.stats().held, 0U);
}

// A client that copies from one of its regions to another punches both.
TEST_F(OffendersTest, WhoOwnsBothSidesIsCharged) {
    all.add(one.bytes, {{bad, 7, nullptr}, {good, 8, nullptr}});
    all.add(other.bytes, {{bad, 7, nullptr}});
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(all.held_by(bad), kLong);
    EXPECT_EQ(all.held_by(good), 0U) << "only one side is its";
    const auto again = std::make_shared<Account>(false, 1002);
    all.add(other.bytes, {{again, 8, nullptr}});
    EXPECT_EQ(held(kLong), Verdict::kOffence) << "two connections of one process";
    EXPECT_EQ(all.held_by(good), kLong);
}

TEST_F(OffendersTest, AllWhoHaveTheMemoryAreCharged) {
    const auto id = all.add(one.bytes, {{bad, 7, nullptr}});
    all.add_owner(id, {good, 8, nullptr});
    all.add_owner(id, {good, 8, nullptr});
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(all.held_by(bad), kLong);
    EXPECT_EQ(all.held_by(good), kLong);
}

TEST_F(OffendersTest, ALittleIsFreeAndComesBack) {
    all.add(one.bytes, {{bad, 7, nullptr}});
    constexpr std::uint64_t kHalf = Offenders::kFree / 2;
    EXPECT_EQ(held(kHalf), Verdict::kMay);
    EXPECT_EQ(held(kHalf - 1), Verdict::kMay);
    now += Offenders::kPart * kHalf;
    EXPECT_EQ(held(kHalf), Verdict::kMay) << "half of it is there again";
    EXPECT_EQ(held(kHalf), Verdict::kOffence);
}

TEST_F(OffendersTest, ConnectingAgainGivesNoNewCredit) {
    all.add(other.bytes, {{good, 8, nullptr}});
    other.touch();
    constexpr std::uint64_t kPiece = Offenders::kFree - 1;
    const auto held_by_new = [&](uid_t user) {
        const auto account = std::make_shared<Account>(false, user);
        const auto id = all.add(one.bytes, {{account, 7, nullptr}});
        const Verdict verdict = held(kPiece);
        all.remove(id);
        return verdict;
    };
    EXPECT_EQ(held_by_new(1003), Verdict::kMay);
    EXPECT_EQ(held_by_new(1004), Verdict::kMay) << "another user";
    EXPECT_EQ(held_by_new(1003), Verdict::kOffence);
    now += Offenders::kPart * Offenders::kFree;
    EXPECT_EQ(held_by_new(1003), Verdict::kMay) << "it is there again";
}

// A user who does not own the card may have clients that take turns.
TEST_F(OffendersTest, AHoldOfAnotherContextIsAnOffence) {
    const int first = 0;
    const int second = 0;
    const auto id = all.add(one.bytes, {{bad, 7, &first}});
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(held(kLong), Verdict::kTooLong);
    all.remove(id);
    all.add(one.bytes, {{bad, 7, &second}});
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(all.last(), 2U);
}

TEST_F(OffendersTest, NobodyIsChargedWhenTheWaitHasEnded) {
    all.add(one.bytes, {{bad, 7, nullptr}});
    const auto held_if = [&](bool still) {
        return all.held(one.bytes.data(), nullptr, kBytes, kLong, now, [still] { return still; });
    };
    EXPECT_EQ(held_if(false), Verdict::kMay);
    EXPECT_EQ(all.held_by(bad), 0U);
    EXPECT_EQ(held_if(true), Verdict::kOffence);
}

TEST_F(OffendersTest, ForgivenUsersAreForgotten) {
    all.add(one.bytes, {{bad, 7, nullptr}});
    all.add(other.bytes, {{good, 8, nullptr}});
    other.touch();
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(all.stats().users, 1U);
    now += Offenders::kFirst + Offenders::kForgiven + 1;
    one.touch();
    other.punch();
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(all.stats().users, 1U) << "only the second one";
}

TEST_F(OffendersTest, EachOffenceLastsTwiceAsLong) {
    all.add(one.bytes, {{bad, 7, nullptr}});
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_EQ(held(kLong), Verdict::kTooLong) << "the same hold";
    now += Offenders::kSettles;
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    const auto found = all.since(1);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].lasts, Offenders::kFirst);
    EXPECT_EQ(found[1].lasts, 2 * Offenders::kFirst);
    EXPECT_TRUE(all.is_far(1001, now + 2 * Offenders::kFirst - 1));
    EXPECT_FALSE(all.is_far(1001, now + 2 * Offenders::kFirst));
    for (int i = 0; i < 20; ++i) {
        now += Offenders::kSettles;
        held(kLong);
    }
    EXPECT_EQ(all.since(1).back().lasts, Offenders::kFirst << Offenders::kMostDoublings);
    now += (Offenders::kFirst << Offenders::kMostDoublings) + Offenders::kForgiven + 1;
    held(kLong);
    EXPECT_EQ(all.since(1).back().lasts, Offenders::kFirst);
}

// The card's owner could end it as well: only others are kept away.
TEST_F(OffendersTest, OthersWhoPunchTheirQueuesGetNone) {
    const int context = 0;
    all.add(one.bytes, {{bad, 7, &context}});
    all.add(other.bytes, {{good, 8, &context}});
    other.touch();
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_TRUE(all.is_shut_out(*bad, now));
    EXPECT_FALSE(all.is_shut_out(*bad, now + Offenders::kFirst));
    one.touch();
    other.punch();
    EXPECT_EQ(held(kLong), Verdict::kOffence);
    EXPECT_FALSE(all.is_shut_out(*good, now));
}

}  // namespace
}  // namespace dingo
