// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Device code run by threads of the CPU, on rings consumed by a fake card.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "fake_card.h"

namespace gda::test {
namespace {

constexpr unsigned kLogSq = 6;
constexpr unsigned kLogCq = 7;  // 64 WQEs and a quarter, as the driver makes it
constexpr std::uint32_t kThreads = 8;

void in_threads(std::uint32_t count, const std::function<void(std::uint32_t)>& fn) {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < count; ++t)
        threads.emplace_back(fn, t);
    for (std::thread& thread : threads)
        thread.join();
}

/// Remote addresses in these tests encode the poster and the number of its post.
std::uint64_t name(std::uint32_t thread, std::uint32_t n) {
    return std::uint64_t{thread} << 32 | n;
}

/// Consumes WRITEs of name() and checks that each arrives once, complete, in its thread's order.
struct Ledger {
    std::array<std::uint32_t, kThreads> next{};
    std::uint32_t torn = 0, disorder = 0;

    std::uint32_t operator()(const Wqe& wqe) {
        const auto thread = static_cast<std::uint32_t>(wqe.raddr() >> 32);
        const auto n = static_cast<std::uint32_t>(wqe.raddr());
        torn += wqe.opcode() != DINGO_WR_WRITE || thread >= kThreads || wqe.num_sge() != 1 ||
                wqe.rkey() != n + 7 || wqe.words[4] != wqe.raddr() * 3 ||
                wqe.words[5] != dgda_key_length(n + 9, n % 100);
        if (thread < kThreads)
            disorder += next[thread]++ != n;
        return 0;
    }
};

dingo_gda_ticket post(dingo_gda_qp* qp, std::uint32_t thread, std::uint32_t n) {
    const std::uint64_t raddr = name(thread, n);
    return dingo_gda_post_write(qp, raddr * 3, n + 9, raddr, n + 7, n % 100);
}

TEST(GdaRings, ManyThreadsPostAndEachWqeIsTakenOnceWholeAndInOrder) {
    constexpr std::uint32_t kPosts = 1000;
    Ledger ledger;
    FakeCard card(kLogSq, kLogCq, std::ref(ledger));
    std::atomic<std::uint32_t> bad = 0;
    in_threads(kThreads, [&](std::uint32_t t) {
        dingo_gda_ticket ticket = 0;
        for (std::uint32_t n = 0; n < kPosts; ++n) {
            ticket = post(card.qp(), t, n);
            if (n % (t + 1) == 0)
                dingo_gda_ring(card.qp());
            if (n % 16 == t)
                bad += dingo_gda_wait(card.qp(), ticket) != 0;
        }
        bad += dingo_gda_wait(card.qp(), ticket) != 0;
    });
    EXPECT_EQ(dingo_gda_quiet(card.qp()), 0);
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    EXPECT_EQ(bad, 0u);
    EXPECT_EQ(ledger.torn, 0u);
    EXPECT_EQ(ledger.disorder, 0u);
    EXPECT_TRUE(std::ranges::all_of(ledger.next, [](std::uint32_t n) { return n == kPosts; }));
    EXPECT_EQ(card.qp()->done, std::uint64_t{kThreads} * kPosts);
}

TEST(GdaRings, WhoFindsTheRingFullRingsAndPolls) {
    std::uint32_t taken = 0;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& /*wqe*/) { return ++taken, 0; });
    in_threads(kThreads, [&](std::uint32_t t) {
        for (std::uint32_t n = 0; n < 500; ++n)
            post(card.qp(), t, n);
    });
    EXPECT_EQ(dingo_gda_quiet(card.qp()), 0);
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    EXPECT_EQ(taken, kThreads * 500);
}

TEST(GdaRings, InlineDataOfEverySizeWrapsAtTheEndOfTheRing) {
    std::array<std::uint8_t, DINGO_MAX_INLINE> data{};
    std::iota(data.begin(), data.end(), std::uint8_t{3});
    std::uint32_t expected = 0, wrong = 0;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& wqe) {
        const std::uint32_t bytes = ++expected;
        wrong += wqe.words[1] != bytes || wqe.num_sge() != 0 ||
                 (wqe.flags() & DINGO_WQE_CTRL_FLAGS_INLINE_MASK) == 0 ||
                 wqe.blocks() != (32 + bytes + DINGO_SQ_BLOCK - 1) / DINGO_SQ_BLOCK ||
                 std::memcmp(wqe.data(), data.data(), bytes) != 0;
        return 0;
    });
    dingo_gda_ticket ticket = 0;
    for (std::uint32_t bytes = 1; bytes <= data.size(); ++bytes)
        ticket = dingo_gda_post_write_inline(card.qp(), data.data(), bytes, 1, 2);
    EXPECT_EQ(dingo_gda_wait(card.qp(), ticket), 0);
    EXPECT_EQ(dingo_gda_post_write_inline(card.qp(), data.data(), 0, 1, 2), 0u);
    EXPECT_EQ(dingo_gda_post_write_inline(card.qp(), data.data(), data.size() + 1, 1, 2), 0u);
    EXPECT_EQ(dingo_gda_wait(card.qp(), 0), DINGO_GDA_INVALID);
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    EXPECT_EQ(expected, data.size());
    EXPECT_EQ(wrong, 0u);
}

TEST(GdaRings, OperationsAreWhatTheContractSays) {
    std::vector<Wqe> seen;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& wqe) { return seen.push_back(wqe), 0; });
    dingo_gda_post_read(card.qp(), 0x1000, 5, 0x2000, 6, 77);
    dingo_gda_post_send(card.qp(), 0x3000, 8, 99);
    dingo_gda_fetch_add(card.qp(), 0x1000, 5, 0x2000, 6, 42);
    dingo_gda_cmp_swap(card.qp(), 0x1000, 5, 0x2000, 6, 43, 44);
    EXPECT_EQ(dingo_gda_quiet(card.qp()), 0);
    card.stop();
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_EQ(seen[0].opcode(), unsigned{DINGO_WR_READ});
    EXPECT_EQ(seen[0].raddr(), 0x2000u);
    EXPECT_EQ(seen[0].rkey(), 6u);
    EXPECT_EQ(seen[0].words[4], 0x1000u);
    EXPECT_EQ(seen[0].words[5], std::uint64_t{77} << 32 | 5);
    EXPECT_EQ(seen[1].opcode(), unsigned{DINGO_WR_SEND});
    EXPECT_EQ(seen[1].words[5], std::uint64_t{99} << 32 | 8);
    dingo_wqe_atomic atomic{};
    dingo_sge sge{};
    EXPECT_EQ(seen[2].opcode(), unsigned{DINGO_WR_FETCH_ADD});
    std::memcpy(&atomic, &seen[2].words[4], sizeof atomic);
    EXPECT_EQ(atomic.swap_add, 42u);
    EXPECT_EQ(seen[3].opcode(), unsigned{DINGO_WR_CMP_SWAP});
    std::memcpy(&atomic, &seen[3].words[4], sizeof atomic);
    std::memcpy(&sge, &seen[3].words[6], sizeof sge);
    EXPECT_EQ(atomic.swap_add, 44u);
    EXPECT_EQ(atomic.compare, 43u);
    EXPECT_EQ(sge.addr, 0x1000u);
    EXPECT_EQ(sge.lkey, 5u);
    EXPECT_EQ(sge.length, 8u);
}

TEST(GdaRings, AFailureIsOfItsRequestAndWhatFollowsIsFlushed) {
    std::uint32_t n = 0;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& /*wqe*/) {
        return ++n == 5 ? std::uint32_t{DINGO_WCS_REM_ACCESS_ERR} : 0;
    });
    std::vector<dingo_gda_ticket> tickets;
    for (std::uint32_t i = 0; i < 8; ++i)
        tickets.push_back(post(card.qp(), 0, i));
    EXPECT_EQ(dingo_gda_quiet(card.qp()), DINGO_WCS_WR_FLUSH_ERR);
    for (std::uint32_t i = 0; i < 8; ++i)
        EXPECT_EQ(dingo_gda_wait(card.qp(), tickets[i]), i < 4    ? 0
                                                         : i == 4 ? int{DINGO_WCS_REM_ACCESS_ERR}
                                                                  : int{DINGO_WCS_WR_FLUSH_ERR});
    EXPECT_EQ(card.qp()->failed_status, unsigned{DINGO_WCS_REM_ACCESS_ERR});
    EXPECT_EQ(card.qp()->failed_vendor, unsigned{kVendorError});
    EXPECT_EQ(card.qp()->failed_at, tickets[3]) << "its first block: the end of the one before";
    EXPECT_EQ(card.complaint(), "");
}

TEST(GdaRings, OfManyThreadsExactlyOneHearsOfTheFailure) {
    std::uint32_t n = 0;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& /*wqe*/) {
        return ++n == 200 ? std::uint32_t{DINGO_WCS_RETRY_EXC_ERR} : 0;
    });
    std::atomic<std::uint32_t> good = 0, failed = 0, flushed = 0;
    in_threads(kThreads, [&](std::uint32_t t) {
        for (std::uint32_t i = 0; i < 100; ++i) {
            const int result = dingo_gda_wait(card.qp(), post(card.qp(), t, i));
            good += result == 0;
            failed += result == DINGO_WCS_RETRY_EXC_ERR;
            flushed += result == DINGO_WCS_WR_FLUSH_ERR;
        }
    });
    EXPECT_EQ(good, 199u);
    EXPECT_EQ(failed, 1u);
    EXPECT_EQ(flushed, kThreads * 100 - 200);
    EXPECT_EQ(card.complaint(), "");
}

TEST(GdaRings, IndicesOf32BitsWrap) {
    Ledger ledger;
    FakeCard card(kLogSq, kLogCq, std::ref(ledger), (std::uint64_t{1} << 32) - 150);
    in_threads(2, [&](std::uint32_t t) {
        for (std::uint32_t n = 0; n < 400; ++n)
            EXPECT_EQ(dingo_gda_wait(card.qp(), post(card.qp(), t, n)), 0);
    });
    card.stop();
    EXPECT_EQ(card.complaint(), "");
    EXPECT_EQ(ledger.torn + ledger.disorder, 0u);
    EXPECT_EQ(card.qp()->done, (std::uint64_t{1} << 32) - 150 + 800);
}

TEST(GdaRings, NothingPostedIsQuiet) {
    FakeCard card(kLogSq, kLogCq, [](const Wqe& /*wqe*/) { return 0; });
    EXPECT_EQ(dingo_gda_quiet(card.qp()), 0);
    EXPECT_EQ(dingo_gda_poll_cq(card.qp()), 0);
    dingo_gda_ring(card.qp());
    card.stop();
    EXPECT_EQ(card.doorbells(), 0u);
}

/// Posts `count` requests, rings, and waits until the card has completed them; does not poll.
void complete(FakeCard& card, std::uint32_t count) {
    const std::uint32_t before = card.completions();
    for (std::uint32_t n = 0; n < count; ++n)
        post(card.qp(), 0, n);
    dingo_gda_ring(card.qp());
    while (card.completions() != before + count)
        std::this_thread::yield();
}

constexpr auto kSucceed = [](const Wqe& /*wqe*/) { return 0; };

TEST(GdaRings, APollTakesAtMost64) {
    FakeCard card(8, 9, kSucceed);
    complete(card, 100);
    EXPECT_EQ(dingo_gda_poll_cq(card.qp()), 64);
    EXPECT_EQ(card.qp()->done, 64u);
    EXPECT_EQ(dingo_gda_poll_cq(card.qp()), 36);
    EXPECT_EQ(dingo_gda_poll_cq(card.qp()), 0);
    EXPECT_EQ(card.qp()->done, 100u);
}

TEST(GdaRings, AWaitTakesNoMoreThanItNeeds) {
    FakeCard card(kLogSq, kLogCq, kSucceed);
    complete(card, 3);
    EXPECT_EQ(dingo_gda_wait(card.qp(), 2), 0);
    EXPECT_EQ(card.qp()->consumer, 2u);
}

TEST(GdaRings, TheCardHearsOfEachQuarterOfTheCompletionQueue) {
    FakeCard card(kLogSq, kLogCq, kSucceed);
    constexpr std::uint32_t kQuarter = (1U << kLogCq) / 4;
    for (std::uint32_t n = 1; n <= 3 * kQuarter; ++n) {
        EXPECT_EQ(dingo_gda_wait(card.qp(), post(card.qp(), 0, n)), 0);
        EXPECT_EQ(*card.qp()->cq_doorbell >> 32, n / kQuarter * kQuarter);
    }
}

TEST(GdaRings, WhoFindsAnotherOnePollingTakesNothing) {
    FakeCard card(kLogSq, kLogCq, kSucceed);
    complete(card, 1);
    card.qp()->poll_lock = 1;
    EXPECT_EQ(dingo_gda_poll_cq(card.qp()), 0);
    EXPECT_EQ(card.qp()->done, 0u);
    card.qp()->poll_lock = 0;
    EXPECT_EQ(dingo_gda_poll_cq(card.qp()), 1);
    EXPECT_EQ(card.qp()->poll_lock, 0u);
}

TEST(GdaRings, NoDoorbellIsRungTwiceForTheSameRequests) {
    FakeCard card(kLogSq, kLogCq, kSucceed);
    complete(card, 2);
    *card.qp()->sq_doorbell = 0;
    dingo_gda_ring(card.qp());
    EXPECT_EQ(*card.qp()->sq_doorbell, 0u);
    EXPECT_EQ(card.qp()->ring_lock, 0u);
}

/// Without a status page a device cannot detect the card's end and keeps waiting.
TEST(GdaRings, WithoutAStatusPageWaitingHasNoEndButTheCards) {
    std::atomic<bool> go = false;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& /*wqe*/) {
        while (!go)
            std::this_thread::yield();
        return 0;
    });
    card.qp()->status = nullptr;
    const dingo_gda_ticket ticket = post(card.qp(), 0, 0);
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        go = true;
    });
    EXPECT_EQ(dingo_gda_wait(card.qp(), ticket), 0);
    release.join();
}

/// A status without the bit GONE.
TEST(GdaRings, ACardThatIsThereIsWaitedFor) {
    std::atomic<bool> go = false;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& /*wqe*/) {
        while (!go)
            std::this_thread::yield();
        return 0;
    });
    const std::uint32_t status = ~DGDA_STATUS_GONE;
    card.qp()->status = &status;
    const dingo_gda_ticket ticket = post(card.qp(), 0, 0);
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        go = true;
    });
    EXPECT_EQ(dingo_gda_wait(card.qp(), ticket), 0);
    release.join();
}

/// Unused words of a WQE are 0.
TEST(GdaRings, WordsWithoutMeaningAreZero) {
    std::vector<Wqe> seen;
    FakeCard card(kLogSq, kLogCq, [&](const Wqe& wqe) { return seen.push_back(wqe), 0; });
    for (std::uint32_t w = 0; w < DGDA_BLOCK_WORDS << kLogSq; ++w)
        card.qp()->sq[w] = ~0ull;
    post(card.qp(), 0, 0);
    dingo_gda_post_read(card.qp(), 1, 2, 3, 4, 5);
    dingo_gda_post_send(card.qp(), 0x3000, 8, 99);
    dingo_gda_fetch_add(card.qp(), 0x1000, 5, 0x2000, 6, 42);
    const std::uint8_t data[] = {1, 2, 3};
    dingo_gda_post_write_inline(card.qp(), data, sizeof data, 7, 8);
    EXPECT_EQ(dingo_gda_quiet(card.qp()), 0);
    card.stop();
    ASSERT_EQ(seen.size(), 5u);
    for (std::size_t n = 0; n < 3; ++n) {
        EXPECT_EQ(seen[n].words[1], 0u);
        EXPECT_EQ(seen[n].words[6], 0u);
        EXPECT_EQ(seen[n].words[7], 0u);
        EXPECT_EQ(seen[n].num_sge(), 1u);
        EXPECT_EQ(seen[n].flags(), unsigned{DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK});
        EXPECT_EQ(seen[n].words[0] >> 32, 0u);
    }
    EXPECT_EQ(seen[2].raddr(), 0u) << "a SEND has no target";
    EXPECT_EQ(seen[2].words[3], 0u);
    EXPECT_EQ(seen[2].words[4], 0x3000u);
    EXPECT_EQ(seen[3].raddr(), 0x2000u);
    EXPECT_EQ(seen[3].words[3], 6u);
    EXPECT_EQ(seen[3].words[5], 0u) << "what FETCH_ADD compares with";
    EXPECT_EQ(seen[3].words[6], 0x1000u);
    EXPECT_EQ(seen[3].words[7], std::uint64_t{8} << 32 | 5);
    EXPECT_EQ(seen[4].opcode(), unsigned{DINGO_WR_WRITE});
    EXPECT_EQ(seen[4].raddr(), 7u);
    EXPECT_EQ(seen[4].words[3], 8u);
    EXPECT_EQ(seen[4].words[4], 0x030201u);
    for (std::size_t w = 5; w < DGDA_BLOCK_WORDS; ++w)
        EXPECT_EQ(seen[4].words[w], 0u);
}

TEST(GdaRings, AfterTheCardHasDiedNobodyWaits) {
    FakeCard card(kLogSq, kLogCq, [](const Wqe& /*wqe*/) { return 0; });
    const dingo_gda_ticket before = post(card.qp(), 0, 0);
    EXPECT_EQ(dingo_gda_wait(card.qp(), before), 0);
    card.die();
    in_threads(kThreads, [&](std::uint32_t t) {
        for (std::uint32_t n = 0; n < 50; ++n)
            post(card.qp(), t, n);  // more than there is room for
        EXPECT_EQ(dingo_gda_quiet(card.qp()), DINGO_GDA_GONE);
    });
    EXPECT_EQ(dingo_gda_wait(card.qp(), before), 0) << "that was done";
}

}  // namespace
}  // namespace gda::test
