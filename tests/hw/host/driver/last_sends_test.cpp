// SPDX-License-Identifier: BSD-2-Clause
// A QP that goes to ERR right after its last post: the driver lets posted messages leave.
#include "host/driver/last_sends.h"

#include <cerrno>
#include <chrono>
#include <list>
#include <optional>
#include <thread>

#include "slow_place.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint64_t kIova = 0x7000'0000;
constexpr std::uint32_t kRights = 0xf;
constexpr std::uint32_t kBytes = 64;

struct Told final : Waiter {
    void settled(int error) override { errors.push_back(error); }
    std::vector<int> errors;
};

class LastSendsTest : public TwoCards {
  protected:
    void SetUp() override { connect(qa, qb); }
    void TearDown() override { slow->let_go(); }
    /// Posts a WRITE whose data must be fetched, behind a doorbell that the card has not seen.
    void post() {
        dingo_sge sge{};
        sge.addr = kIova;
        sge.lkey = from.key();
        sge.length = kBytes;
        ca.post_write(qa, sge, kIova, to.key());
    }
    /// Requests ERR; returns NotSent if modify() throws it.
    std::optional<NotSent> to_error(bool waits = true) {
        QpAttr attr;
        attr.qp_state = DINGO_QPS_ERR;
        Udata none;
        try {
            qa.qp->modify(attr, DINGO_QPM_STATE, none, waits);
        } catch (const NotSent& not_sent) {
            return not_sent;
        }
        return std::nullopt;
    }
    void pass(Nanoseconds time) {
        now += time;
        a->card.advance(now);
        a->driver.poll(now);
    }
    std::uint8_t state() { return qa.qp->query().qp_state; }

    std::shared_ptr<SlowPlace> slow = std::make_shared<SlowPlace>();
    std::shared_ptr<SlowPlace> target = [] {
        auto place = std::make_shared<SlowPlace>();
        place->let_go();
        return place;
    }();
    Client ca{*a}, cb{*b};
    Client::QpRings qa = ca.make_qp(), qb = cb.make_qp();
    Mr from{a->driver, *ca.pd, slow, 0, kSlowBytes, kIova, kRights};
    Mr to{b->driver, *cb.pd, target, 0, kSlowBytes, kIova, kRights};
};

TEST_F(LastSendsTest, WhatIsBeingFetchedLeavesBeforeTheQpGoes) {
    std::ranges::fill(slow->bytes, std::byte{7});
    post();
    const auto not_sent = to_error();
    ASSERT_TRUE(not_sent);
    EXPECT_EQ(not_sent->qpn(), qa.qp->number());
    EXPECT_EQ(state(), DINGO_QPS_RTS);
    EXPECT_EQ(a->driver.last_sends().next_deadline(), kNever) << "nobody waits";
    Told told;
    a->driver.await(*not_sent, told);
    EXPECT_EQ(a->driver.last_sends().next_deadline(), now + LastSends::kLook);
    pass(LastSends::kLook - 1);
    pass(1);
    EXPECT_TRUE(told.errors.empty());
    slow->let_go();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (a->driver.far().is_waiting() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pass(LastSends::kLook);
    EXPECT_EQ(told.errors, std::vector{0});
    EXPECT_FALSE(to_error());
    EXPECT_EQ(state(), DINGO_QPS_ERR);
    settle();
    EXPECT_EQ(target->bytes[kBytes - 1], std::byte{7});
}

// RESET clears the doorbell slots.
TEST_F(LastSendsTest, ARefusedResetLosesNoPost) {
    std::ranges::fill(slow->bytes, std::byte{7});
    slow->let_go();
    post();
    QpAttr attr;
    attr.qp_state = DINGO_QPS_RESET;
    attr.cur_qp_state = DINGO_QPS_INIT;
    Udata none;
    EXPECT_THROW(qa.qp->modify(attr, DINGO_QPM_STATE | DINGO_QPM_CUR_STATE, none, false),
                 ErrnoError);
    EXPECT_EQ(state(), DINGO_QPS_RTS);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (target->bytes[kBytes - 1] != std::byte{7} && std::chrono::steady_clock::now() < end) {
        settle();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(target->bytes[kBytes - 1], std::byte{7});
}

TEST_F(LastSendsTest, AFetchThatTakesTooLongIsGivenUp) {
    post();
    const auto not_sent = to_error();
    ASSERT_TRUE(not_sent);
    Told told;
    a->driver.await(*not_sent, told);
    pass(LastSends::kPatience - 1);
    EXPECT_TRUE(told.errors.empty());
    pass(LastSends::kLook);
    EXPECT_EQ(told.errors, std::vector{ETIMEDOUT});
    EXPECT_EQ(a->driver.last_sends().next_deadline(), kNever);
    EXPECT_FALSE(to_error(false)) << "who does not want to wait does not";
    EXPECT_EQ(state(), DINGO_QPS_ERR);
}

TEST_F(LastSendsTest, WhoIsGoneOrWhoseQpIsGoneWaitsNoLonger) {
    post();
    const auto not_sent = to_error();
    ASSERT_TRUE(not_sent);
    std::optional<Told> gone(std::in_place);
    Told told;
    a->driver.await(*not_sent, *gone);
    a->driver.await(*not_sent, told);
    gone.reset();
    pass(LastSends::kLook);
    EXPECT_TRUE(told.errors.empty());
    qa.qp.reset();
    pass(LastSends::kLook);
    EXPECT_EQ(told.errors, std::vector{0});
    EXPECT_EQ(a->driver.last_sends().next_deadline(), kNever);
}

TEST_F(LastSendsTest, SoManyAreWaitedForAndAFewLookedAtInARound) {
    post();
    std::list<Told> told;
    while (const auto not_sent = to_error()) {
        ASSERT_LT(told.size(), LastSends::kMost);
        a->driver.await(*not_sent, told.emplace_back());
    }
    EXPECT_EQ(told.size(), LastSends::kMost);
    EXPECT_EQ(state(), DINGO_QPS_ERR);
    const auto are_told = [&] {
        return std::ranges::count_if(told, [](const Told& one) { return !one.errors.empty(); });
    };
    EXPECT_EQ(are_told(), 0);
    pass(LastSends::kLook);
    EXPECT_EQ(are_told(), LastSends::kLooks);
    pass(LastSends::kLook);
    EXPECT_EQ(are_told(), 2 * LastSends::kLooks);
}

TEST_F(LastSendsTest, WithoutAnythingPostedNobodyWaits) {
    EXPECT_FALSE(to_error());
    EXPECT_EQ(state(), DINGO_QPS_ERR);
}

TEST_F(LastSendsTest, OtherChangesOfTheQpDoNotWait) {
    post();
    QpAttr attr;
    attr.qp_state = DINGO_QPS_SQD;
    Udata none;
    EXPECT_NO_THROW(qa.qp->modify(attr, DINGO_QPM_STATE, none, true));
}

}  // namespace
}  // namespace dingo::uverbs::test
