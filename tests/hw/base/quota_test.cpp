// SPDX-License-Identifier: BSD-2-Clause
//
// Shares of what there is only so much of: nobody takes the last of it.
#include "base/quota.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "base/errno_error.h"

namespace dingo {
namespace {

constexpr std::size_t kLimit = 1200;

/// Takes one after the other until it is refused, and says how many it got.
std::size_t take_all(std::vector<Charge>& taken, const std::shared_ptr<Account>& account,
                     Quota& quota) {
    const std::size_t before = taken.size();
    try {
        for (;;) {
            taken.emplace_back(account, quota);
        }
    } catch (const ErrnoError& error) {
        EXPECT_EQ(error.code(), ENOMEM);
    }
    return taken.size() - before;
}

TEST(Quota, WhoIsAloneHasHalfAndTheNextHasSome) {
    Quota quota(kLimit, ENOMEM, Quota::Fair::kAll);
    std::vector<Charge> taken;
    EXPECT_EQ(take_all(taken, std::make_shared<Account>(false), quota), kLimit / 2);
    EXPECT_EQ(take_all(taken, std::make_shared<Account>(false), quota), kLimit / 4);
    EXPECT_EQ(take_all(taken, std::make_shared<Account>(false), quota), kLimit / 8);
    EXPECT_EQ(quota.used(), taken.size());
    EXPECT_EQ(quota.refused(), 3U);
}

TEST(Quota, AForeignUserHasAThirdAndItsClientsShareIt) {
    Quota quota(kLimit, ENOMEM, Quota::Fair::kForeign);
    const auto foreign = std::make_shared<Account>(true);
    std::vector<Charge> taken;
    EXPECT_EQ(take_all(taken, foreign, quota), kLimit / 3);
    EXPECT_EQ(take_all(taken, foreign, quota), 0U);
    EXPECT_EQ(take_all(taken, std::make_shared<Account>(false), quota), kLimit - kLimit / 3)
        << "the owner is bound by the limit only";
    EXPECT_EQ(quota.used(), kLimit);
}

// What a client had may go on the thread that uses it last.
TEST(Quota, ThreadsTakeAndGiveBackOfOneAccount) {
    constexpr unsigned kRounds = 20'000;
    Quota quotas[3] = {{kLimit, ENOMEM, Quota::Fair::kAll},
                       {kLimit, ENOMEM, Quota::Fair::kAll},
                       {kLimit, ENOMEM, Quota::Fair::kAll}};
    const auto account = std::make_shared<Account>(false);
    const auto work = [&] {
        for (unsigned i = 0; i < kRounds; ++i) {
            const Charge one(account, quotas[i % 3]);
            const Charge next(account, quotas[(i + 1) % 3]);
        }
    };
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < 4; ++i) {
            threads.emplace_back(work);
        }
    }
    for (const Quota& quota : quotas) {
        EXPECT_EQ(quota.used(), 0U);
        EXPECT_EQ(account->used(quota), 0U);
    }
}

TEST(Quota, WhatIsGivenBackCanBeTakenAgain) {
    Quota quota(4, EMFILE, Quota::Fair::kAll);
    const auto account = std::make_shared<Account>(false);
    {
        const Charge two(account, quota, 2);
        EXPECT_EQ(account->used(quota), 2U);
        EXPECT_THROW(Charge(account, quota), ErrnoError);
    }
    EXPECT_EQ(quota.used(), 0U);
    EXPECT_EQ(account->used(quota), 0U);
    Charge moved = Charge(account, quota, 2);
    Charge here;
    here = std::move(moved);
    EXPECT_EQ(quota.used(), 2U);
}

TEST(Quota, MoreThanThereIsIsRefusedWhole) {
    Quota quota(4, EMFILE, Quota::Fair::kForeign);
    const auto account = std::make_shared<Account>(false);
    EXPECT_THROW(Charge(account, quota, 5), ErrnoError);
    EXPECT_EQ(quota.used(), 0U);
    EXPECT_NO_THROW(Charge(account, quota, 4));
    EXPECT_NO_THROW(Charge(nullptr, quota, 5)) << "without an account nothing is counted";
}

}  // namespace
}  // namespace dingo
