// SPDX-License-Identifier: BSD-2-Clause
//
// With real holes in memory that a thread touches.
#include "app/fault_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/offenders.h"
#include "dingo/touch.h"

namespace dingo {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kFile = 64 * kPage;
constexpr unsigned kMappings = 5'000;

/// A client's file, mapped by the card, and so many times besides.
class Shared {
  public:
    Shared(std::size_t bytes, unsigned mappings) : bytes_(bytes) {
        file_.reset(::memfd_create("watched", MFD_CLOEXEC));
        EXPECT_EQ(::ftruncate(file_.get(), static_cast<off_t>(bytes)), 0);
        at_ = map();
        for (unsigned i = 0; i < mappings; ++i) {
            more_.push_back(map());
            static_cast<void>(*reinterpret_cast<volatile char*>(more_.back()));
        }
        account_ = std::make_shared<Account>(false, 1001);
        owned_.emplace(std::span(at_, bytes_), MemoryOwner{account_, ::getpid(), nullptr});
    }
    ~Shared() {
        owned_.reset();
        ::munmap(at_, bytes_);
        for (std::byte* const at : more_) {
            ::munmap(at, bytes_);
        }
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    [[nodiscard]] std::byte* at() const { return at_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t held() const { return offenders().held_by(account_); }
    void punch(std::size_t bytes) const {
        EXPECT_EQ(::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                              static_cast<off_t>(bytes)),
                  0);
    }

  private:
    std::byte* map() const {
        void* const at =
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
        EXPECT_NE(at, MAP_FAILED);
        return static_cast<std::byte*>(at);
    }
    std::size_t bytes_;
    UniqueFd file_;
    std::byte* at_ = nullptr;
    std::vector<std::byte*> more_;
    std::shared_ptr<Account> account_;
    std::optional<OwnedMemory> owned_;
};

/// What a data thread does: touches all pages of a client's memory again and again.
class DataThread {
  public:
    explicit DataThread(const Shared& memory)
        : thread_([this, &memory] {
              FaultWatch watch([this] { ++offences; });
              while (!ends_) {
                  for (std::size_t i = 0; i < memory.bytes() && !ends_; i += kPage) {
                      touches(memory.at() + i, kPage);
                      std::memset(memory.at() + i, 1, kPage);
                  }
                  ++rounds;
              }
          }) {}
    ~DataThread() {
        ends_ = true;
        thread_.join();
    }
    DataThread(const DataThread&) = delete;
    DataThread& operator=(const DataThread&) = delete;

    std::atomic<unsigned> offences = 0;
    std::atomic<unsigned> rounds = 0;

  private:
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

/// Whether the kernel tells where threads wait.
bool kernel_tells() {
    std::atomic<pid_t> id = 0;
    std::atomic<bool> ends = false;
    std::thread waits([&] {
        id = ::gettid();
        ends.wait(false);
    });
    std::string where;
    for (int i = 0; i < 1000 && (where.empty() || where == "0"); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::ifstream("/proc/self/task/" + std::to_string(id) + "/wchan") >> where;
    }
    ends = true;
    ends.notify_one();
    waits.join();
    return !where.empty() && where != "0";
}

TEST(FaultWatch, FindsWhoPunchesHoles) {
    if (!kernel_tells()) {
        GTEST_SKIP() << "the kernel does not say where threads wait";
    }
    const Shared memory(kFile, kMappings);
    DataThread data(memory);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (data.offences == 0 && std::chrono::steady_clock::now() < give_up) {
        memory.punch(kFile);
    }
    EXPECT_GE(data.offences, 1U);
    EXPECT_TRUE(should_leave());
    EXPECT_TRUE(last_touch.offence);
    EXPECT_GE(memory.held(), Offenders::kFree);
    last_touch.leave = last_touch.offence = false;
}

// First touches take processor time, and waits for a processor are nobody's.
TEST(FaultWatch, FirstTouchesOnABusyMachineAreNobodys) {
    std::atomic<bool> ends = false;
    std::vector<std::thread> busy;
    for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
        busy.emplace_back([&ends] {
            while (!ends) {
            }
        });
    }
    for (int i = 0; i < 5; ++i) {
        const Shared memory(std::size_t{32} << 20, 0);
        DataThread data(memory);
        while (data.rounds == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(memory.held(), 0U);
        EXPECT_EQ(data.offences, 0U);
    }
    ends = true;
    for (std::thread& t : busy) {
        t.join();
    }
}

// What the preload library does when a program frees memory.
TEST(FaultWatch, FreeingALittleIsNoOffence) {
    const Shared memory(kFile, 1);
    DataThread data(memory);
    for (int i = 0; i < 50; ++i) {
        memory.punch(kFile / 4);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(data.offences, 0U);
}

// A thread that sleeps for long is not looked at, and is again when it wakes.
TEST(FaultWatch, WatchesAThreadThatHasSlept) {
    if (!kernel_tells()) {
        GTEST_SKIP() << "the kernel does not say where threads wait";
    }
    const Shared memory(kFile, kMappings);
    std::atomic<unsigned> offences = 0;
    std::atomic<bool> ends = false;
    std::atomic<bool> awake = false;
    std::thread data([&] {
        FaultWatch watch([&] { ++offences; });
        watch.sleeps();
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        watch.woke();
        awake = true;
        while (!ends) {
            touches(memory.at(), kPage);
            std::memset(memory.at(), 1, kPage);
        }
    });
    while (!awake) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (offences == 0 && std::chrono::steady_clock::now() < give_up) {
        memory.punch(kFile);
    }
    ends = true;
    data.join();
    EXPECT_GE(offences, 1U);
    last_touch.leave = last_touch.offence = false;
}

// Movers access memory of clients, too, and nobody waits for them.
TEST(Touch, OnlyTheWatchedThreadMarks) {
    std::array<std::byte, 2> memory{};
    touches(&memory[0], 1);
    EXPECT_NE(last_touch.at, &memory[0]);
    {
        const FaultWatch watch([] {});
        touches(&memory[0], 1);
        std::thread([&] { touches(&memory[1], 1); }).join();
        EXPECT_EQ(last_touch.at, &memory[0]);
    }
    touches(&memory[1], 1);
    EXPECT_EQ(last_touch.at, &memory[0]);
}

TEST(Touch, WhatIsOnlyLookedUpIsNotMarked) {
    std::array<std::byte, 2> memory{};
    may_mark = true;
    touches(&memory[0], 1, &memory[1]);
    {
        const KeepsMark looks_up;
        touches(&memory[1], 2);
    }
    EXPECT_EQ(last_touch.at, &memory[0]);
    EXPECT_EQ(last_touch.with, &memory[1]);
    EXPECT_EQ(last_touch.bytes, 1U);
    may_mark = false;
}

TEST(FaultWatch, LooksAtTimesThatNobodyKnows) {
    std::minstd_rand random(1);
    std::set<std::uint64_t> periods;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t period = FaultWatch::next_period(random);
        EXPECT_GE(period, FaultWatch::kPeriod / 2);
        EXPECT_LE(period, FaultWatch::kPeriod * 3 / 2);
        periods.insert(period);
    }
    EXPECT_GT(periods.size(), 90U);
}

// A visitor of the gate touches the memory while the watched thread sleeps.
TEST(FaultWatch, FindsWhoHoldsAVisitorUp) {
    if (!kernel_tells()) {
        GTEST_SKIP() << "the kernel does not say where threads wait";
    }
    const Shared memory(kFile, kMappings);
    std::atomic<unsigned> offences = 0;
    FaultWatch watch([&] { ++offences; });
    watch.sleeps();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // it rests
    std::atomic<bool> ends = false;
    std::thread visitor([&] {
        watch.visitor_entered();
        while (!ends) {
            touches(memory.at(), kPage);
            std::memset(memory.at(), 1, kPage);
        }
        watch.visitor_leaves();
        touches(memory.at(), kPage);
    });
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (offences == 0 && std::chrono::steady_clock::now() < give_up) {
        memory.punch(kFile);
    }
    ends = true;
    visitor.join();
    EXPECT_GE(offences, 1U);
    EXPECT_EQ(last_touch.at, nullptr) << "the visitor has left";
    last_touch.leave = last_touch.offence = false;
}

}  // namespace
}  // namespace dingo
