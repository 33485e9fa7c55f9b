// SPDX-License-Identifier: BSD-2-Clause
#include "app/doorbell_scanner.h"
#include "dingo_hw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/shared_memory.h"
#include "dingo/touch.h"

namespace dingo {
namespace {

constexpr std::size_t kPages = 1024;  // four sweep steps

struct Sink final : DoorbellSink {
    void on_doorbell(std::uint64_t offset, std::uint64_t value) override {
        rings.emplace_back(offset, value);
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rings;
};

/// The writer's part of the contract.
struct Writer {
    std::byte* page;

    /// Returns true if the card must be kicked.
    bool ring(std::size_t slot, std::uint64_t value) const {
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(page + slot * 8))
            .store(value, std::memory_order_relaxed);
        std::atomic_ref(*reinterpret_cast<std::uint8_t*>(page + 64 + slot / 8))
            .store(1, std::memory_order_seq_cst);
        return need_kick() != 0;
    }
    [[nodiscard]] std::uint64_t value(std::size_t slot) const {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(page + slot * 8)).load();
    }
    [[nodiscard]] std::uint32_t need_kick() const {
        return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(page))
            .load(std::memory_order_seq_cst);
    }
};

struct Scanner : ::testing::Test {
    SharedMemory memory{"test-doorbells", kPages * 4096};
    DoorbellScanner scanner{memory.bytes()};
    Sink sink;
    Nanoseconds now = 1'000'000'000;

    Writer writer(std::size_t page) { return {memory.bytes().data() + page * 4096}; }
    void sweep() {
        do {
            scanner.scan(sink, now);
        } while (scanner.sweeping());
    }
    void activate(std::size_t page) {
        EXPECT_TRUE(writer(page).ring(16, 1));
        scanner.kicked();
        sweep();
        sink.rings.clear();
    }
};

TEST_F(Scanner, FirstDoorbellOfAnyPageKicksAndTheSweepFindsIt) {
    for (const std::size_t page : {std::size_t{0}, std::size_t{1}, kPages - 1}) {
        EXPECT_TRUE(writer(page).ring(16, 0x11 + page));
        scanner.kicked();
        sweep();
        ASSERT_EQ(sink.rings.size(), 1u);
        EXPECT_EQ(sink.rings[0], std::pair(page * 4096 + 128, 0x11 + page));
        sink.rings.clear();
        EXPECT_EQ(writer(page).need_kick(), 0u);
        now += DoorbellScanner::kSweepDelay;
    }
}

TEST_F(Scanner, ActivePageIsScannedWithoutAKick) {
    activate(5);
    EXPECT_FALSE(writer(5).ring(511, 42));
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_EQ(sink.rings[0], std::pair(std::uint64_t{5 * 4096 + 511 * 8}, std::uint64_t{42}));
}

TEST_F(Scanner, AKickThatNamesItsPageNeedsNoSweep) {
    activate(3);
    writer(700).ring(30, 9);
    scanner.kicked(700, now);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_FALSE(scanner.sweeping());
    EXPECT_EQ(writer(700).need_kick(), 0u);
    scanner.kicked(700, now);
    EXPECT_EQ(scanner.active_pages(), 2u);
}

TEST_F(Scanner, PagesThatAreNotInUseAreLeftOut) {
    scanner.use_pages(10);
    writer(9).ring(30, 9);
    writer(10).ring(30, 9);
    EXPECT_EQ(scanner.scan_all(sink, now), 1u);
    EXPECT_EQ(sink.rings.at(0).first, 9u * 4096 + 240);
    scanner.use_pages(11);
    EXPECT_EQ(scanner.scan_all(sink, now), 1u);
}

TEST_F(Scanner, ARenewedPageHasNoPast) {
    activate(5);
    writer(5).ring(20, 77);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    std::fill_n(memory.bytes().data() + 5 * 4096, 4096, std::byte{0});
    scanner.renew(5);
    EXPECT_EQ(scanner.active_pages(), 0u);
    EXPECT_TRUE(writer(5).ring(20, 77)) << "kicks, and is not taken for the old value";
    scanner.kicked(5, now);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
}

constexpr std::uint64_t kCqDoorbell = std::uint64_t{7} << 32 | std::uint64_t{DINGO_DB_CQ} << 24 | 3;
constexpr std::uint64_t kTaken = DINGO_DOORBELL_WORD0_TAKEN_MASK;

TEST_F(Scanner, ADoorbellOfACqIsMarkedAsTakenAndDeliveredWithoutTheMark) {
    activate(5);
    writer(5).ring(20, kCqDoorbell);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_EQ(sink.rings.at(0).second, kCqDoorbell);
    EXPECT_EQ(writer(5).value(20), kCqDoorbell | kTaken);
    writer(5).ring(20, kCqDoorbell | kTaken);
    EXPECT_EQ(scanner.scan(sink, now), 0u) << "the mark alone is no doorbell";
    const std::uint64_t next = kCqDoorbell + (std::uint64_t{1} << 32);
    writer(5).ring(20, next | kTaken);
    EXPECT_EQ(scanner.scan(sink, now), 1u) << "a new index with the old mark is one";
    EXPECT_EQ(sink.rings.at(1).second, next);
}

TEST_F(Scanner, OnlyDoorbellsOfCqsAreMarked) {
    activate(5);
    const std::uint64_t send = std::uint64_t{7} << 32 | std::uint64_t{DINGO_DB_SQ} << 24 | 3;
    writer(5).ring(20, send);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_EQ(writer(5).value(20), send);
}

TEST_F(Scanner, ATrappedStoreOfACqIsTakenAtOnce) {
    scanner.store(sink, 5 * 4096 + 160, kCqDoorbell, 8);
    EXPECT_EQ(sink.rings.at(0).second, kCqDoorbell);
    EXPECT_EQ(writer(5).value(20), kCqDoorbell | kTaken);
}

TEST_F(Scanner, AClearedSlotRingsItsOldValueAgain) {
    activate(5);
    writer(5).ring(20, 77);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    scanner.clear(5 * 4096 + 160);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
    writer(5).ring(20, 77);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
}

TEST_F(Scanner, OnlyChangedSlotsRing) {
    activate(0);
    writer(0).ring(17, 5);
    writer(0).ring(18, 6);
    EXPECT_EQ(scanner.scan(sink, now), 2u);
    writer(0).ring(18, 7);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_EQ(sink.rings.back(), std::pair(std::uint64_t{18 * 8}, std::uint64_t{7}));
    writer(0).ring(18, 7);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
}

TEST_F(Scanner, ZeroDoesNotRingButLetsTheOldValueRingAgain) {
    activate(0);
    writer(0).ring(20, 9);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    writer(0).ring(20, 0);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
    writer(0).ring(20, 9);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
}

TEST_F(Scanner, ScanAllDeliversWhatAnyPageHasBeforeATrappedWrite) {
    activate(0);
    writer(0).ring(20, 9);
    (void)writer(7).ring(30, 11);  // inactive, and its kick has not arrived yet
    EXPECT_EQ(scanner.scan_all(sink, now), 2u);
    writer(0).ring(20, 0);
    EXPECT_EQ(scanner.scan_all(sink, now), 0u);
    writer(0).ring(20, 9);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_FALSE(scanner.sweeping());
}

TEST_F(Scanner, AReceiveIsDeliveredBeforeTheSendThatFollowedIt) {
    const auto value = [](std::uint32_t type, std::uint32_t index) {
        return std::uint64_t{index} << 32 | DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, type) | 2;
    };
    activate(0);
    activate(9);
    // The receive queue's slot is read after the send queue's.
    writer(9).ring(400, value(DINGO_DB_RQ, 1));
    writer(0).ring(16, value(DINGO_DB_SQ, 1));
    EXPECT_EQ(scanner.scan(sink, now), 2u);
    ASSERT_EQ(sink.rings.size(), 2u);
    EXPECT_EQ(sink.rings[0].second, value(DINGO_DB_RQ, 1));
    EXPECT_EQ(sink.rings[1].second, value(DINGO_DB_SQ, 1));
}

TEST_F(Scanner, DirtyControlLinesDoNotRing) {
    activate(0);
    writer(0).ring(8, 77);  // line 1 has the dirty bytes themselves
    EXPECT_EQ(scanner.scan(sink, now), 0u);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
}

TEST_F(Scanner, ArmAsksForKicksAndWakingEndsIt) {
    activate(3);
    ASSERT_TRUE(scanner.arm(sink, now));
    EXPECT_EQ(writer(3).need_kick(), 1u);
    scanner.disarm();
    EXPECT_EQ(writer(3).need_kick(), 0u);
}

TEST_F(Scanner, DoorbellJustBeforeArmKeepsTheCardAwake) {
    activate(3);
    EXPECT_FALSE(writer(3).ring(30, 8));
    EXPECT_FALSE(scanner.arm(sink, now));
    EXPECT_EQ(sink.rings.size(), 1u);
    EXPECT_EQ(writer(3).need_kick(), 0u);
}

TEST_F(Scanner, KickThatAnActivePageExplainsSweepsLater) {
    activate(3);
    now += DoorbellScanner::kSweepDelay;
    sweep();
    const auto sweeps = scanner.stats().sweeps;
    ASSERT_TRUE(scanner.arm(sink, now));
    EXPECT_TRUE(writer(3).ring(30, 8));
    scanner.disarm();
    scanner.kicked();
    scanner.scan(sink, now);
    EXPECT_EQ(sink.rings.size(), 1u);
    EXPECT_FALSE(scanner.sweeping());
    EXPECT_EQ(scanner.next_deadline(), now + DoorbellScanner::kSweepDelay);
    EXPECT_TRUE(writer(900).ring(16, 4));  // kicked at the same time, found by the delayed sweep
    now += DoorbellScanner::kSweepDelay;
    sweep();
    EXPECT_EQ(sink.rings.size(), 2u);
    EXPECT_EQ(scanner.stats().sweeps, sweeps + 1);
    EXPECT_EQ(scanner.next_deadline(), kNever);
}

TEST_F(Scanner, IdlePageIsRetiredAndKicksAgain) {
    activate(7);
    now += DoorbellScanner::kIdleAfter + 1;
    sweep();
    EXPECT_EQ(scanner.active_pages(), 0u);
    EXPECT_TRUE(writer(7).ring(16, 2));
}

TEST_F(Scanner, TrappedStoreRingsAtOnceAndOnlyOnce) {
    scanner.store(sink, 4096 + 256, 0x55, 8);
    EXPECT_EQ(sink.rings.size(), 1u);
    scanner.store(sink, 4096 + 64 + 4, 1, 1);  // as by a writer that does not know that its store
                                               // is trapped
    scanner.kicked();
    sweep();
    EXPECT_EQ(sink.rings.size(), 1u);
    scanner.store(sink, 4096 + 256, 0x55, 4);  // half a doorbell is ignored
    EXPECT_EQ(sink.rings.size(), 1u);
}

TEST_F(Scanner, ResetForgetsEverything) {
    activate(2);
    writer(2).ring(40, 9);
    scanner.scan(sink, now);
    writer(2).ring(41, 9);
    writer(600).ring(41, 9);
    sink.rings.clear();
    scanner.reset();
    scanner.kicked();
    sweep();
    EXPECT_TRUE(sink.rings.empty());
    EXPECT_EQ(scanner.active_pages(), 0u);
    EXPECT_EQ(writer(2).need_kick(), 1u);
    EXPECT_TRUE(writer(2).ring(40, 9));
    scanner.kicked();
    sweep();
    EXPECT_EQ(sink.rings.size(), 1u);
}

// Writers ring continuously; the card sleeps whenever it may, and wakes only by a kick. A lost
// wake-up would leave the last value of a slot undelivered and end in the time-out.
TEST_F(Scanner, NoDoorbellIsLostWhileWritersRaceWithSleeping) {
    constexpr std::size_t kWriters = 3;
    constexpr std::uint64_t kRings = 30'000;  // minimum per writer
    constexpr std::uint64_t kSleeps = 100;    // fewer would hardly test the race
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    const auto late = [&] { return std::chrono::steady_clock::now() >= deadline; };
    std::atomic<std::uint64_t> sleeps{0};
    std::atomic<std::uint64_t> rung[kWriters]{};  // the last value of a writer that has finished
    std::atomic<int> kicks{0};
    std::atomic<std::uint64_t> delivered[kWriters];  // the last value that the card saw
    struct Last final : DoorbellSink {
        explicit Last(std::atomic<std::uint64_t>* d) : delivered(d) {}
        void on_doorbell(std::uint64_t offset, std::uint64_t value) override {
            auto& slot = delivered[offset / 4096 / 300];
            ordered &= value > slot.load();
            slot.store(value);
        }
        std::atomic<std::uint64_t>* delivered;
        bool ordered = true;
    } last(delivered);

    std::vector<std::thread> writers;
    for (std::size_t w = 0; w < kWriters; ++w) {
        writers.emplace_back([&, w] {
            const Writer page = writer(w * 300);
            std::uint64_t i = 0;
            while (i < kRings || (sleeps.load() < kSleeps && !late())) {
                if (page.ring(16 + w, ++i)) {
                    kicks.fetch_add(1);
                }
                // Occasionally wait until the card has seen the value, so that it also sleeps
                // between doorbells.
                while (i % 64 == 0 && delivered[w].load() != i && !late()) {
                    std::this_thread::yield();
                }
            }
            rung[w].store(i);
        });
    }
    const auto done = [&] {
        return std::ranges::equal(rung, delivered, [](const auto& value, const auto& seen) {
            return value.load() != 0 && value.load() == seen.load();
        });
    };
    while (!done() && !late()) {
        now += 1000;
        if (scanner.scan(last, now) != 0 || scanner.sweeping() || !scanner.arm(last, now)) {
            continue;
        }
        ++sleeps;
        while (kicks.load() == 0 && scanner.next_deadline() == kNever && !done() && !late()) {
            std::this_thread::yield();
        }
        scanner.disarm();
        if (kicks.exchange(0) != 0) {
            scanner.kicked();
        } else {
            now = std::max(now, scanner.next_deadline() == kNever ? 0 : scanner.next_deadline());
        }
    }
    EXPECT_TRUE(done()) << "a doorbell was lost";
    EXPECT_TRUE(last.ordered);
    EXPECT_GE(sleeps.load(), kSleeps);
    for (auto& thread : writers) {
        thread.join();
    }
}

/// Stores only the slot, as a GPU does.
void store(const Writer& writer, std::size_t slot, std::uint64_t value) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(writer.page + slot * 8))
        .store(value, std::memory_order_release);
}

TEST_F(Scanner, AWatchedSlotNeedsNeitherMarkNorKick) {
    scanner.watch(7, 20, true, now);
    EXPECT_EQ(scanner.watched(), 1u);
    store(writer(7), 20, 0x105);
    store(writer(7), 21, 0x106);  // not watched: not read
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_EQ(sink.rings.at(0), std::pair(std::uint64_t{7 * 4096 + 160}, std::uint64_t{0x105}));
    EXPECT_EQ(scanner.scan(sink, now), 0u) << "once";
    store(writer(7), 20, 0x205);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    scanner.watch(7, 20, false, now);
    store(writer(7), 20, 0x305);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
    EXPECT_EQ(scanner.next_deadline(), kNever);
}

TEST_F(Scanner, OrdinarySlotsInThePageOfAWatchedOneStayAsTheyWere) {
    scanner.watch(7, 20, true, now);
    EXPECT_TRUE(writer(7).ring(21, 0x106)) << "kicks";
    scanner.kicked(7, now);
    store(writer(7), 20, 0x105);
    EXPECT_EQ(scanner.scan(sink, now), 2u);
    EXPECT_FALSE(writer(7).ring(21, 0x206));
    EXPECT_EQ(scanner.scan(sink, now), 1u) << "the watched one of that line is not found again";
}

TEST_F(Scanner, TheCardNeverWritesAWatchedSlotOfACq) {
    constexpr std::uint64_t kCq =
        std::uint64_t{5} << 32 | DINGO_PREP(DINGO_DOORBELL_WORD0_TYPE_MASK, DINGO_DB_CQ);
    scanner.watch(3, 24, true, now);
    store(writer(3), 24, kCq);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    EXPECT_EQ(sink.rings.at(0).second, kCq);
    EXPECT_EQ(writer(3).value(24), kCq) << "no TAKEN";
    constexpr std::uint64_t kOther = kCq + (std::uint64_t{1} << 32);
    writer(3).ring(25, kOther);  // a neighbour marks the line that contains both
    scanner.kicked(3, now);
    scanner.scan(sink, now);
    EXPECT_EQ(writer(3).value(24), kCq);
    EXPECT_NE(writer(3).value(25), kOther) << "TAKEN, as ever";
}

TEST_F(Scanner, WhileASlotIsWatchedTheCardSpinsThenSleepsForShortTimes) {
    EXPECT_FALSE(scanner.spins(now));
    scanner.watch(3, 24, true, now);
    EXPECT_TRUE(scanner.spins(now));
    now += DoorbellScanner::kWatchSpin;
    EXPECT_FALSE(scanner.spins(now));
    scanner.scan(sink, now);
    ASSERT_TRUE(scanner.arm(sink, now));
    EXPECT_EQ(scanner.next_deadline(), now + DoorbellScanner::kWatchEvery);
    store(writer(3), 24, 0x105);
    EXPECT_FALSE(scanner.arm(sink, now)) << "rung just before";
    EXPECT_EQ(sink.rings.size(), 1u);
    EXPECT_TRUE(scanner.spins(now));
}

TEST_F(Scanner, AWatchedSlotIsClearedRenewedAndResetAsOthers) {
    scanner.watch(3, 24, true, now);
    store(writer(3), 24, 0x105);
    EXPECT_EQ(scanner.scan(sink, now), 1u);
    scanner.clear(3 * 4096 + 24 * 8);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
    store(writer(3), 24, 0x105);
    EXPECT_EQ(scanner.scan(sink, now), 1u) << "the same value again, and still watched";
    scanner.renew(3);
    EXPECT_EQ(scanner.watched(), 0u);
    scanner.watch(3, 24, true, now);
    scanner.reset();
    EXPECT_EQ(scanner.watched(), 0u);
    store(writer(3), 24, 0x205);
    EXPECT_EQ(scanner.scan(sink, now), 0u);
}

TEST_F(Scanner, WatchingWhatIsNoSlotIsIgnored) {
    scanner.watch(kPages, 24, true, now);
    scanner.watch(3, 15, true, now);
    scanner.watch(3, 512, true, now);
    EXPECT_EQ(scanner.watched(), 0u);
    scanner.watch(3, 511, true, now);
    scanner.watch(3, 511, true, now);
    EXPECT_EQ(scanner.watched(), 1u);
}

// Its owner may have punched a hole there.
TEST_F(Scanner, MarksEachPageThatItAccesses) {
    may_mark = true;
    const auto marked_by = [](auto access) {
        touches(nullptr, 0);
        access();
        return last_touch.at.load();
    };
    const std::byte* const page = memory.bytes().data() + 3 * std::size_t{4096};
    EXPECT_EQ(marked_by([&] { scanner.kicked(3, now); }), page) << "need_kick";
    EXPECT_EQ(marked_by([&] { scanner.disarm(); }), page);
    EXPECT_EQ(marked_by([&] { scanner.renew(3); }), page);
    EXPECT_EQ(marked_by([&] { scanner.clear(3 * 4096 + 1024); }), page + 1024);
    EXPECT_EQ(marked_by([&] { scanner.store(sink, 3 * 4096 + 1032, 1, 8); }), page + 1032);
    EXPECT_EQ(marked_by([&] { scanner.reset(); }),
              memory.bytes().data() + (kPages - 1) * std::size_t{4096});
    may_mark = false;
}

}  // namespace
}  // namespace dingo
