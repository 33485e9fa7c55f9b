// SPDX-License-Identifier: BSD-2-Clause
//
// Streams of accesses to places of several movers, and to near memory.
#include "host/driver/far_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <semaphore>
#include <thread>

#include "../../base/trap.h"

namespace dingo::uverbs::test {
namespace {

using Access = FarMemory::Access;

/// Memory whose writes, and reads if `holds_reads`, complete when let_go() is called.
class Gated final : public FarPlace {
  public:
    explicit Gated(bool goes = false, std::shared_ptr<Mover> fetcher = nullptr)
        : FarPlace(std::make_shared<Mover>(), std::move(fetcher)), goes_(goes) {}
    ~Gated() override { let_go(); }

    void let_go() {
        {
            const std::scoped_lock lock(mutex_);
            goes_ = true;
        }
        changed_.notify_all();
    }

    std::vector<std::byte> bytes = std::vector<std::byte>(1 << 20);
    std::atomic<std::size_t> bytes_read = 0;
    std::atomic<unsigned> writes = 0;
    unsigned at_once = 1;
    [[nodiscard]] unsigned depth() const override { return at_once; }
    std::atomic<bool> holds_reads = false;
    std::size_t largest = 0;  ///< largest buffer of an access
    bool few_buffers = false;
    bool has_lent = false;
    [[nodiscard]] bool lends() const override { return has_lent; }
    [[nodiscard]] bool has_buffers(std::size_t /*bytes*/) const override { return !few_buffers; }

    FarBuffer buffer(std::size_t size) override {
        largest = std::max(largest, size);
        return FarBuffer(size);
    }

  private:
    bool do_read(std::uint64_t offset, std::span<std::byte> dst) override {
        if (holds_reads) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return goes_; });
        }
        bytes_read += dst.size();
        std::ranges::copy(std::span(bytes).subspan(offset, dst.size()), dst.begin());
        return true;
    }
    bool do_write(std::uint64_t offset, std::span<const std::byte> src) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return goes_; });
        ++writes;
        std::ranges::copy(src, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return true;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool goes_;
};

/// Memory that takes several writes at once, from go() on. The first one fails.
class FirstFails final : public FarPlace {
  public:
    static constexpr unsigned kDepth = 3;

    FirstFails() : FarPlace(std::make_shared<Mover>()) {}
    [[nodiscard]] unsigned depth() const override { return kDepth; }
    [[nodiscard]] bool can_start(const FarAccess& /*access*/) const override { return true; }
    void go() {
        goes_ = true;
        goes_.notify_all();
    }

  private:
    bool do_read(std::uint64_t /*offset*/, std::span<std::byte> /*dst*/) override { return false; }
    bool do_write(std::uint64_t /*offset*/, std::span<const std::byte> /*src*/) override {
        return false;
    }
    bool do_start(FarAccess& /*access*/) override {
        goes_.wait(false);
        return true;
    }
    bool do_finish(const FarAccess& /*access*/) override { return finished_++ != 0; }

    std::atomic<bool> goes_ = false;
    unsigned finished_ = 0;
};

/// Memory each of whose writes waits for a step().
class Stepped final : public FarPlace {
  public:
    Stepped() : FarPlace(std::make_shared<Mover>()) {}
    void step(unsigned count = 1) { steps_.release(count); }
    std::atomic<unsigned> writes = 0;

  private:
    bool do_read(std::uint64_t /*offset*/, std::span<std::byte> /*dst*/) override { return false; }
    bool do_write(std::uint64_t /*offset*/, std::span<const std::byte> /*src*/) override {
        steps_.acquire();
        ++writes;
        return true;
    }

    std::counting_semaphore<> steps_{0};
};

/// Memory that takes many writes at once; each completes with a step().
class Together final : public FarPlace {
  public:
    Together() : FarPlace(std::make_shared<Mover>(1)) {}
    [[nodiscard]] unsigned depth() const override { return 8; }
    [[nodiscard]] bool can_start(const FarAccess& /*access*/) const override { return true; }
    void step(unsigned count = 1) { steps_ += count; }
    std::atomic<unsigned> begun = 0;

  private:
    bool do_read(std::uint64_t /*offset*/, std::span<std::byte> /*dst*/) override { return false; }
    bool do_write(std::uint64_t /*offset*/, std::span<const std::byte> /*src*/) override {
        return false;
    }
    bool do_start(FarAccess& /*access*/) override {
        ++begun;
        return true;
    }
    [[nodiscard]] bool do_is_done(const FarAccess& /*access*/) const override {
        return steps_ != 0;
    }
    bool do_finish(const FarAccess& /*access*/) override {
        EXPECT_NE(steps_--, 0U);
        return true;
    }

    std::atomic<unsigned> steps_ = 0;
};

class Streams : public ::testing::Test {
  protected:
    static constexpr FarMemory::Stream kOne = 2;
    static constexpr std::array kData = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

    template <typename Condition>
    static bool comes(Condition condition) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
    bool is_told(int milliseconds) {
        pollfd wait{streams.fd(), POLLIN, 0};
        return ::poll(&wait, 1, milliseconds) == 1;
    }
    void TearDown() override {
        slow->let_go();
        quick->let_go();
    }

    std::shared_ptr<Gated> slow = std::make_shared<Gated>();
    std::shared_ptr<Gated> quick = std::make_shared<Gated>(true);
    BusMap bus;
    FarStreams streams{bus};
    std::uint64_t slow_at = bus.add(slow, slow->bytes.size(), true);
    std::uint64_t quick_at = bus.add(quick, quick->bytes.size(), true);
};

TEST_F(Streams, WhatNobodyWaitsForYetLeavesBuffersToOthers) {
    quick->few_buffers = true;
    EXPECT_FALSE(streams.prefetch(kOne, 2, quick_at, 64));
    std::array<std::byte, 64> data{};
    EXPECT_TRUE(comes([&] {
        return streams.read(kOne, 1, quick_at, data, quick->bytes.size()) == Access::kDone;
    }));
    EXPECT_EQ(quick->bytes_read, FarReads::kFirst) << "no more than it is asked for";
    quick->few_buffers = false;
    EXPECT_TRUE(streams.prefetch(kOne, 2, quick_at, 64));
    EXPECT_TRUE(comes([&] { return quick->bytes_read >= FarReads::kFirst + 64; }));
    const std::size_t fetched = quick->bytes_read;
    EXPECT_TRUE(comes([&] { return streams.read(kOne, 2, quick_at, data, 64) == Access::kDone; }));
    EXPECT_EQ(quick->bytes_read, fetched);
    EXPECT_FALSE(streams.prefetch(kOne, 3, bus.add(data), 64)) << "near memory is read at once";
}

TEST_F(Streams, APlaceSaysWhetherItsBuffersMayBeLent) {
    std::array<std::byte, 64> near{};
    quick->has_lent = true;
    EXPECT_TRUE(streams.lends(quick_at));
    EXPECT_FALSE(streams.lends(slow_at));
    EXPECT_FALSE(streams.lends(bus.add(near)));
    EXPECT_FALSE(streams.lends(~std::uint64_t{0})) << "there is nothing";
}

TEST_F(Streams, HeldWriteDoesNotReachTheNextOwnerOfItsAddress) {
    std::array<std::byte, 64> first{}, next{};
    const std::uint64_t near = bus.add(first);
    ASSERT_EQ(streams.write(kOne, slow_at, kData), Access::kDone);
    ASSERT_EQ(streams.write(kOne, near, kData), Access::kDone);
    bus.remove(near);
    ASSERT_EQ(bus.add(next), near) << "the address is given out again";
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).failed; }));
    EXPECT_EQ(streams.progress(kOne).done, 1U);
    EXPECT_EQ(next[0], std::byte{0});
    EXPECT_EQ(first[0], std::byte{0});
}

// A client frees memory under the card's hands: nothing of it is the data thread's any more.
TEST_F(Streams, HeldAccessesGoToTheMoverOfMemoryThatBecameFar) {
    const dingo::test::Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    const std::span<std::byte> memory(static_cast<std::byte*>(trap.page()),
                                      dingo::test::Trap::kBytes);
    const auto account = std::make_shared<Account>(false);
    const std::uint64_t near =
        bus.add({nullptr, 0, {{0, memory}}, {}, account, nullptr}, memory.size(), true, false);
    const auto others = std::make_shared<FetchedPiece>();
    others->bytes = FarBuffer(64);
    others->bytes.resize(64);
    others->bytes.bytes()[0] = std::byte{9};
    ASSERT_EQ(streams.write(kOne, slow_at, kData), Access::kDone);
    ASSERT_EQ(streams.write(kOne, near, kData), Access::kDone);
    ASSERT_EQ(streams.atomic(kOne, near + 8, {false, 0, 5}), Access::kDone);
    ASSERT_EQ(streams.write_held(kOne, near + 64, others->bytes.bytes(), others), Access::kDone);
    ASSERT_EQ(others.use_count(), 2);
    ASSERT_EQ(bus.make_far(account, 0, bus.end()), 1U);
    slow->let_go();
    EXPECT_TRUE(dingo::test::returns_soon(
        [&] {
            EXPECT_TRUE(comes([&] {
                streams.progress(kOne);
                return others.use_count() == 1;
            })) << "another client's memory does not wait for it";
            EXPECT_TRUE(trap.wait_until_used()) << "by the mover";
            EXPECT_EQ(streams.progress(kOne).done, 1U);
        },
        [&] { trap.let_go(); }));
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 4; }));
    EXPECT_FALSE(streams.progress(kOne).failed);
    EXPECT_EQ(memory[0], kData[0]);
    EXPECT_EQ(memory[8], std::byte{5});
    EXPECT_EQ(memory[64], std::byte{9});
    EXPECT_EQ(streams.atomic_result(kOne), 0U);
}

TEST_F(Streams, ReadOfAnotherMoverDoesNotChangeTheOrderOfWrites) {
    ASSERT_EQ(streams.write(kOne, slow_at, kData), Access::kDone);
    std::array<std::byte, 8> data{};
    EXPECT_TRUE(
        comes([&] { return streams.read(kOne, 1, quick_at, data, data.size()) == Access::kDone; }));
    ASSERT_EQ(streams.write(kOne, quick_at + 64, kData), Access::kDone);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(streams.progress(kOne).done, 0U) << "the first one is not";
    EXPECT_EQ(quick->bytes[64], std::byte{0});
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 2; }));
    EXPECT_EQ(quick->bytes[64], kData[0]);
}

TEST_F(Streams, StuckWriteIsFoundBehindAReadOfAnotherMover) {
    ASSERT_EQ(streams.write(kOne, slow_at, kData), Access::kDone);
    std::array<std::byte, 8> data{};
    EXPECT_TRUE(
        comes([&] { return streams.read(kOne, 1, quick_at, data, data.size()) == Access::kDone; }));
    EXPECT_TRUE(comes([&] {
        streams.moved();
        return streams.progress(kOne).failed;
    }));
}

TEST_F(Streams, WhatIsFetchedByAThreadOfItsOwnWaitsForNoWrite) {
    const auto place = std::make_shared<Gated>(false, std::make_shared<Mover>());
    const std::uint64_t at = bus.add(place, place->bytes.size(), true);
    ASSERT_EQ(streams.write(kOne, at, kData), Access::kDone);
    std::array<std::byte, 8> data{};
    EXPECT_TRUE(
        comes([&] { return streams.read(kOne, 1, at + 64, data, data.size()) == Access::kDone; }));
    EXPECT_EQ(streams.progress(kOne).done, 0U);
    place->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 1; }));
}

// A message may be in memory of two kinds.
TEST_F(Streams, StuckReadIsFoundBehindAReadOfAnotherMover) {
    slow->holds_reads = true;
    std::array<std::byte, 8> data{};
    ASSERT_EQ(streams.read(kOne, 1, slow_at, data, data.size()), Access::kLater);
    EXPECT_TRUE(
        comes([&] { return streams.read(kOne, 1, quick_at, data, data.size()) == Access::kDone; }));
    EXPECT_TRUE(comes([&] {
        streams.moved();
        return streams.read(kOne, 1, slow_at, data, data.size()) == Access::kError;
    }));
}

// Others wait for the thread that executes these writes.
TEST_F(Streams, WhatWasHeldForNearMemoryIsNotAllWrittenInOneLook) {
    constexpr unsigned kWrites = 16;
    const std::vector<std::byte> data(64 << 10, std::byte{7});
    std::vector<std::byte> memory(kWrites * data.size());
    const std::uint64_t near = bus.add(memory);
    ASSERT_EQ(streams.write(kOne, slow_at, kData), Access::kDone);
    for (unsigned i = 0; i < kWrites; ++i) {
        ASSERT_EQ(streams.write(kOne, near + i * data.size(), data), Access::kDone);
    }
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done != 0; }));
    std::uint64_t done = streams.progress(kOne).done;
    EXPECT_LT(done, 4U);
    for (unsigned looks = 0; done < 1 + kWrites && looks < kWrites; ++looks) {
        ASSERT_TRUE(streams.moved()) << "it is to be looked at again";
        const std::uint64_t before = done;
        done = streams.progress(kOne).done;
        EXPECT_EQ(done, before + 1);
    }
    EXPECT_EQ(memory, std::vector(memory.size(), std::byte{7}));
}

// A client is charged for the size of its bytes.
TEST_F(Streams, NeighbouringWritesHaveABufferOfTheirSize) {
    const auto byte = std::span(kData).first(1);
    for (const std::uint64_t at : {0, 64, 65, 66, 67}) {
        ASSERT_EQ(streams.write(kOne, slow_at + at, byte), Access::kDone);
    }
    EXPECT_LE(slow->largest, 8U);
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 5; }));
    EXPECT_EQ(slow->bytes[67], kData[0]);
}

TEST_F(Streams, PacketsOfOneRoundAreOneAccess) {
    const std::vector<std::byte> packet(4'096, std::byte{5});
    for (unsigned i = 0; i < 20; ++i) {
        ASSERT_EQ(streams.write(kOne, quick_at + i * packet.size(), packet), Access::kDone);
    }
    EXPECT_TRUE(streams.is_waiting());
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 20; }));
    EXPECT_EQ(quick->writes, 1U);
    // An atomic follows the open write.
    ASSERT_EQ(streams.write(kOne, quick_at, std::vector<std::byte>(8)), Access::kDone);
    ASSERT_EQ(streams.atomic(kOne, quick_at, {false, 0, 9}), Access::kDone);
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 22; }));
    EXPECT_EQ(streams.atomic_result(kOne), 0U);
}

// A flag behind its data is a message of its own: nobody may see it before them.
TEST_F(Streams, MessagesAreNotJoined) {
    const std::vector<std::byte> packet(4'096, std::byte{5});
    std::uint64_t at = slow_at;
    for (unsigned message = 0; message < 3; ++message) {
        streams.begin_message(kOne);
        for (unsigned i = 0; i < 2; ++i, at += packet.size()) {
            ASSERT_EQ(streams.write(kOne, at, packet), Access::kDone);
        }
        streams.begin_message(kOne);
        ASSERT_EQ(streams.write(kOne, at, kData), Access::kDone);
        at += kData.size();
        streams.progress(kOne);
    }
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 9; }));
    EXPECT_EQ(slow->writes, 6U);
    EXPECT_EQ(slow->bytes[3 * (2 * 4'096 + kData.size()) - 1], kData.back());
}

TEST_F(Streams, OpenWriteGrowsWhileItsMoverIsBehind) {
    const std::vector<std::byte> packet(4'096, std::byte{5});
    // One is in progress, one waits, and the rest grows.
    for (unsigned i = 0; i < 40; ++i) {
        ASSERT_EQ(streams.write(kOne, slow_at + i * packet.size(), packet), Access::kDone);
        streams.progress(kOne);
    }
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 40; }));
    EXPECT_LE(slow->writes, 4U);
    EXPECT_EQ(slow->bytes[40 * 4'096 - 1], std::byte{5});
}

// A call of a GPU's driver takes as long for 4 KiB as for 256 KiB.
TEST_F(Streams, OpenWriteGrowsWhileEnoughIsOnItsWay) {
    const auto place = std::make_shared<Together>();
    const std::uint64_t at = bus.add(place, 4 << 20, true);
    const std::vector<std::byte> full(Mover::kMostJoined);
    const std::vector<std::byte> packet(4'096);
    for (unsigned i = 0; i < Mover::kBusy; ++i) {
        ASSERT_EQ(streams.write(kOne, at + i * full.size(), full), Access::kDone);
    }
    EXPECT_TRUE(comes([&] {
        streams.moved();
        return place->begun == Mover::kBusy;
    }));
    const std::uint64_t behind = at + Mover::kBusy * full.size();
    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_EQ(streams.write(kOne, behind + i * packet.size(), packet), Access::kDone);
        streams.moved();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(place->begun, Mover::kBusy);
    place->step();
    EXPECT_TRUE(comes([&] {
        streams.moved();
        return place->begun == Mover::kBusy + 1;
    }));
    place->step(Mover::kBusy);
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == Mover::kBusy + 10; }));
}

TEST_F(Streams, AThreadThatWasWokenIsNotWokenAgain) {
    for (unsigned i = 1; i <= 3; ++i) {
        ASSERT_EQ(streams.write(kOne, quick_at, kData), Access::kDone);
        EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == i; }));
    }
    EXPECT_TRUE(is_told(10'000));
    eventfd_t times = 0;
    ::eventfd_read(streams.fd(), &times);
    EXPECT_EQ(times, 1U);
    streams.woke();
    ASSERT_EQ(streams.write(kOne, quick_at, kData), Access::kDone);
    streams.moved();
    EXPECT_TRUE(is_told(10'000));
}

TEST_F(Streams, OthersDoNotKeepAnOpenWriteBackForEver) {
    constexpr FarMemory::Stream kOther = 4;
    constexpr unsigned kMost = 50;
    const auto place = std::make_shared<Stepped>();
    const std::uint64_t at = bus.add(place, 1 << 20, true);
    const std::vector<std::byte> data(Mover::kMostJoined);  // each is one access
    for (unsigned i = 0; i < 4; ++i) {
        ASSERT_EQ(streams.write(kOther, at, data), Access::kDone);
    }
    ASSERT_EQ(streams.write(kOne, at + data.size(), kData), Access::kDone);
    unsigned made = 0;
    while (made < kMost && streams.progress(kOne).done == 0) {
        ASSERT_EQ(streams.write(kOther, at, data), Access::kDone) << "something always waits";
        place->step();
        ++made;
        ASSERT_TRUE(comes([&] { return place->writes == made; }));
        streams.moved();
    }
    EXPECT_LT(made, kMost);
    place->step(4 * kMost);
    EXPECT_TRUE(comes([&] {
        streams.moved();
        streams.progress(kOther);
        return !streams.is_waiting();
    }));
}

TEST_F(Streams, SlowPlaceHoldsNothingOfOthers) {
    const auto piece = std::make_shared<FetchedPiece>();
    piece->bytes = FarBuffer(64);
    piece->bytes.append(std::vector<std::byte>(64, std::byte{7}));
    ASSERT_EQ(streams.write_held(kOne, slow_at, piece->bytes.bytes(), piece), Access::kDone);
    EXPECT_EQ(piece.use_count(), 1);
}

TEST_F(Streams, HeldBytesAreWrittenFromWhereTheyAre) {
    slow->at_once = 2;
    const auto piece = std::make_shared<FetchedPiece>();
    piece->bytes = FarBuffer(64);
    piece->bytes.append(std::vector<std::byte>(64, std::byte{7}));
    const std::span<const std::byte> bytes = piece->bytes.bytes();
    const auto write = [&](std::uint64_t to, std::size_t from, std::size_t count,
                           const Held& held) {
        return streams.write_held(kOne, slow_at + to, bytes.subspan(from, count), held);
    };
    ASSERT_EQ(streams.write(kOne, slow_at + 1'000, kData), Access::kDone);
    EXPECT_EQ(slow->largest, kData.size());
    ASSERT_EQ(write(0, 0, 16, piece), Access::kDone);
    ASSERT_EQ(write(16, 16, 16, piece), Access::kDone) << "joined";
    ASSERT_EQ(write(32, 40, 8, piece), Access::kDone) << "the neighbour, but not in its memory";
    ASSERT_EQ(write(40, 48, 8, nullptr), Access::kDone) << "the neighbour in it, but not held";
    EXPECT_EQ(slow->largest, 8U) << "nothing but what is not held has a buffer";
    const std::weak_ptr<FetchedPiece> alive = piece;
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 5; }));
    EXPECT_EQ(std::vector(slow->bytes.begin(), slow->bytes.begin() + 48),
              std::vector(48, std::byte{7}));
    EXPECT_TRUE(comes([&] { return alive.use_count() == 1; })) << "it is let go";
}

TEST_F(Streams, WhoWasRefusedIsToldOfRoom) {
    while (streams.write(kOne, slow_at, std::span(slow->bytes).first(1 << 18)) == Access::kDone) {
    }
    EXPECT_FALSE(streams.has_room(kOne));
    slow->let_go();
    EXPECT_TRUE(comes([&] { return streams.has_room(kOne); }));
    EXPECT_EQ(streams.write(kOne, slow_at, kData), Access::kDone);
}

TEST(FarRoom, OthersWaitForAPartOfTheTime) {
    constexpr Nanoseconds kMost = FarRoom::kLongestWait;
    FarRoom room;
    Nanoseconds now = 1'000'000'000'000;
    EXPECT_EQ(room.may_wait(now), kMost);
    room.waited(now, now + kMost);
    now += kMost;
    EXPECT_EQ(room.may_wait(now), 0U);
    now += kMost;
    EXPECT_EQ(room.may_wait(now), kMost / FarRoom::kWaitShare);
    EXPECT_EQ(room.may_wait(now + 100 * kMost), kMost) << "nothing is saved up";
}

// Accesses behind it do not count as done, whether they were in flight or not.
TEST_F(Streams, NothingIsDoneBehindAnAccessThatHasFailed) {
    const auto place = std::make_shared<FirstFails>();
    const std::uint64_t at = bus.add(place, 1 << 20, true);
    const std::vector<std::byte> data(Mover::kMostJoined);  // each is one access
    for (unsigned i = 0; i < FirstFails::kDepth; ++i) {
        EXPECT_EQ(streams.write(kOne, at, data), Access::kDone);
    }
    place->go();
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).failed; }));
    EXPECT_TRUE(comes([&] { return place.use_count() == 2; })) << "all have been told";
    EXPECT_EQ(streams.progress(kOne).done, 0U);
    EXPECT_FALSE(streams.is_waiting());
}

// A card without waiting accesses does not call moved(), and sleeps.
TEST_F(Streams, WakesThoughNobodyAskedWhatMovedBefore) {
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_EQ(streams.write(kOne, quick_at, kData), Access::kDone);
        streams.progress(kOne);  // as an engine with a waiting QP
        EXPECT_TRUE(is_told(20'000)) << i;
        EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == i + 1; }));
        streams.woke();
    }
    EXPECT_TRUE(streams.moved());
}

TEST_F(Streams, SmallAccessesFillAMoverToo) {
    constexpr unsigned kMost = 1'000'000;
    unsigned taken = 0;
    while (taken < kMost && streams.write(kOne, slow_at + taken % 2 * 64,
                                          std::span(kData).first(1)) == Access::kDone) {
        ++taken;
    }
    EXPECT_GT(taken, 1'000U);
    EXPECT_LT(taken, kMost);
    streams.end(kOne);
}

// Accesses that wait for a mover of another place count towards that mover's limit.
TEST_F(Streams, WhatIsHeldForAMoverHasABound) {
    const std::vector<std::byte> data(1 << 20);
    std::vector<std::byte> memory(1 << 20);
    const std::uint64_t near = bus.add(memory);
    unsigned taken = 0;
    FarMemory::Stream begun = 0;
    // If this takes 2 s the mover is stuck.
    while (begun < 40 && streams.write(begun, slow_at, std::span(kData)) == Access::kDone) {
        for (unsigned i = 0; i < 8; ++i) {
            taken += streams.write(begun, near, data) == Access::kDone ? 1U : 0U;
        }
        ++begun;
    }
    EXPECT_GE(taken, 32U);
    EXPECT_LE(taken, 64U);
    slow->let_go();
    EXPECT_TRUE(comes([&] {
        bool all = true;
        for (FarMemory::Stream stream = 0; stream < begun; ++stream) {
            all = streams.progress(stream).done >= 1 && all;
        }
        return all && !streams.is_waiting();
    }));
    EXPECT_EQ(streams.write(kOne, near, data), Access::kDone) << "there is room again";
}

// Writes that may still grow are limited as well.
TEST_F(Streams, OpenWritesOfManyStreamsHaveABound) {
    const std::vector<std::byte> data(128 << 10);
    std::size_t taken = 0;
    for (FarMemory::Stream stream = 0; stream < 1'000; ++stream) {
        for (unsigned i = 0; i < 2; ++i) {
            const std::uint64_t to = slow_at + i * data.size();
            taken += streams.write(stream, to, data) == Access::kDone ? data.size() : 0;
        }
    }
    EXPECT_GT(taken, FarRoom::kMostBytes / 2);
    EXPECT_LE(taken, FarRoom::kMostBytes);
    slow->let_go();
    EXPECT_TRUE(comes([&] {
        for (FarMemory::Stream stream = 0; stream < 1'000; ++stream) {
            streams.progress(stream);
        }
        return !streams.is_waiting();
    }));
    FarRoom& room = *slow->mover()->room();
    EXPECT_TRUE(comes([&] { return room.take(FarRoom::kMostBytes); })) << "all is given back";
    room.give_back(FarRoom::kMostBytes);
}

// Another region may have the same word mapped, and then executes its atomics at once.
TEST_F(Streams, AtomicOnAMappedPartOfAFarWindowIsMadeAtOnce) {
    std::vector<std::byte> memory(8'192);
    const auto client = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
    const std::uint64_t at = bus.add(client, reinterpret_cast<std::uint64_t>(memory.data()),
                                     memory.size(), {{0, std::span(memory).first(4'096)}}, true);
    ASSERT_TRUE(bus.is_far(at, memory.size()));
    ASSERT_EQ(streams.atomic(kOne, at + 64, {false, 0, 5}), Access::kDone);
    EXPECT_EQ(streams.progress(kOne).done, 1U);
    EXPECT_EQ(memory[64], std::byte{5});
    EXPECT_EQ(streams.atomic_result(kOne), 0U);
    ASSERT_EQ(streams.atomic(kOne, at + 4'096, {false, 0, 6}), Access::kDone);
    EXPECT_TRUE(comes([&] { return streams.progress(kOne).done == 2; }));
    EXPECT_EQ(memory[4'096], std::byte{6});
}

// A program that opens its device twice is two clients with one mover each.
TEST_F(Streams, AtomicsOfAllClientsOfAProcessAreAtomic) {
    constexpr std::array<FarMemory::Stream, 2> kClients = {2, 4};
    constexpr unsigned kAdds = 10'000;
    std::vector<std::byte> memory(4'096);
    std::array<std::uint64_t, 2> at{};
    for (std::uint64_t& window : at) {
        const auto client = std::make_shared<ClientMemory>(
            ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
        window = bus.add(client, reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), {},
                         true);
    }
    for (unsigned i = 0; i < kAdds; ++i) {
        for (const unsigned one : {0U, 1U}) {
            ASSERT_EQ(streams.atomic(kClients[one], at[one] + 64, {false, 0, 1}), Access::kDone);
        }
    }
    for (const FarMemory::Stream stream : kClients) {
        EXPECT_TRUE(comes([&] { return streams.progress(stream).done == kAdds; }));
    }
    std::uint64_t sum = 0;
    std::memcpy(&sum, memory.data() + 64, sizeof sum);
    EXPECT_EQ(sum, kClients.size() * kAdds);
}

// The data thread reads mapped memory itself: it is not prefetched and takes no room.
TEST_F(Streams, MappedRestOfAMessageIsNotFetched) {
    std::vector<std::byte> memory(1 << 20);
    const auto client = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
    // The first and the last 4 KiB are not mapped.
    const std::uint64_t at = bus.add(
        client, reinterpret_cast<std::uint64_t>(memory.data()), memory.size(),
        {{4'096, std::span(memory).subspan(4'096, memory.size() - 2 * std::size_t{4'096})}}, true);
    std::array<std::byte, 1'024> packet{};
    const auto is_fetched_for = [&](std::uint64_t offset) {
        EXPECT_TRUE(comes([&] {
            return streams.read(kOne, 1, at + offset, packet, memory.size() - offset) ==
                   Access::kDone;
        }));
        EXPECT_TRUE(comes([&] { return !streams.is_waiting(); }));
        const bool fetched = is_told(0);
        streams.woke();
        return fetched;
    };
    EXPECT_TRUE(is_fetched_for(0));
    EXPECT_FALSE(is_fetched_for(3'072)) << "it came with the first packet";
    EXPECT_TRUE(is_fetched_for(memory.size() - 4'096));
    EXPECT_FALSE(is_fetched_for(memory.size() - 1'024));
}

// Each stream progresses with what its packet needs even if others have all the room.
TEST_F(Streams, WhatIsFetchedForAMoverHasABound) {
    constexpr FarMemory::Stream kStreams = 400;
    std::vector<std::byte> packet(4'096);
    const std::size_t length = quick->bytes.size();
    const auto read_at = [&](FarMemory::Stream stream, std::size_t at) {
        return comes([&] {
            return streams.read(stream, 1, quick_at + at, packet, length - at) == Access::kDone;
        });
    };
    for (FarMemory::Stream stream = 0; stream < kStreams; ++stream) {
        ASSERT_TRUE(read_at(stream, 0)) << stream;
    }
    EXPECT_GT(quick->bytes_read, std::size_t{32} << 20);
    EXPECT_LT(quick->bytes_read, std::size_t{80} << 20);
    for (std::size_t at = packet.size(); at < length; at += packet.size()) {
        ASSERT_TRUE(read_at(0, at) && read_at(kStreams - 1, at)) << at;
    }
    for (FarMemory::Stream stream = 0; stream < kStreams; ++stream) {
        streams.end(stream);
    }
    const std::size_t before = quick->bytes_read;
    ASSERT_TRUE(read_at(kStreams, 0));
    EXPECT_GE(quick->bytes_read - before, FarReads::kFirst) << "there is room again";
}

}  // namespace
}  // namespace dingo::uverbs::test
