// SPDX-License-Identifier: BSD-2-Clause
//
// The data path must not be affected by the control thread, however long that takes.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <span>
#include <thread>
#include <utility>

#include "honest.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

/// During its lifetime the control thread is busy with a request of another client.
class LongRequest {
  public:
    explicit LongRequest(RunningCard& card) : card_(card), client_(card.directory) {
        card_.close_gate();
        Request request(DINGO_UVERBS_SYSFS);
        const std::string path = RunningCard::kGate;
        const auto bytes = std::as_bytes(std::span(path));
        request.payload.assign(bytes.begin(), bytes.end());
        sent_ = std::async(std::launch::async, [this, request] { return client_.send(request); });
    }
    ~LongRequest() {
        card_.open_gate();
        sent_.wait();
    }

  private:
    RunningCard& card_;
    Client client_;
    std::future<Answer> sent_;
};

TEST(UverbsThreads, DataGoesOnWhileARequestTakesLong) {
    RunningCard card;
    Honest honest(card.directory);
    ASSERT_EQ(honest.round(1), "");
    const LongRequest busy(card);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::uint64_t seed = 2; seed < 20; ++seed) {
        ASSERT_EQ(honest.round(seed), "");
    }
}

// While data is transferred, each visit waits for its turn.
TEST(UverbsThreads, ARequestVisitsTheCardOnceAndOnceForTheTimeOfOneThatSleeps) {
    RunningCard card;
    Client client(card.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const auto pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    const auto cq = verbs.handle;
    std::uint64_t before = card.visits();
    const auto visits = [&] { return card.visits() - std::exchange(before, card.visits()); };
    ASSERT_EQ(verbs.create_qp(pd, cq), 0);
    EXPECT_LE(visits(), 2);
    ASSERT_EQ(verbs.destroy_qp(verbs.handle), 0);
    EXPECT_LE(visits(), 2);
    ASSERT_EQ(verbs.destroy_cq(cq), 0);
    EXPECT_LE(visits(), 2);
}

// With a card that sleeps between all of them: requests wake it, and each other.
TEST(UverbsThreads, RequestsAndDataTakeTurnsThroughSleepAndWork) {
    RunningCard card;
    Honest honest(card.directory);
    std::atomic<bool> stop = false;
    std::thread other([&] {
        Client client(card.directory);
        Verbs verbs(client);
        EXPECT_EQ(verbs.get_context(), 0);
        while (!stop) {
            EXPECT_EQ(verbs.alloc_pd(), 0);
            const auto pd = verbs.handle;
            EXPECT_EQ(verbs.create_cq(), 0);
            const auto cq = verbs.handle;
            EXPECT_EQ(verbs.create_qp(pd, cq), 0);
            EXPECT_EQ(verbs.destroy_qp(verbs.handle), 0);
            EXPECT_EQ(verbs.destroy_cq(cq), 0);
            EXPECT_EQ(verbs.destroy_pd(pd), 0);
        }
    });
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const std::string wrong = honest.round(seed);
        EXPECT_EQ(wrong, "");
        std::this_thread::sleep_for(std::chrono::milliseconds(seed % 3));
    }
    stop = true;
    other.join();
}

}  // namespace
}  // namespace dingo::uverbs::test
