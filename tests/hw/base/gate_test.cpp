// SPDX-License-Identifier: BSD-2-Clause
//
// The gate between a data thread and its visitors.
#include "base/gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/log.h"

namespace dingo {
namespace {

using namespace std::chrono_literals;

/// What a data thread does: works with the gate closed, lets visitors in, rests now and then.
class DataThread {
  public:
    explicit DataThread(Gate& gate) : gate_(gate), thread_([this] { run(); }) {}
    ~DataThread() {
        stop_ = true;
        thread_.join();
    }
    /// Not atomic: the gate alone orders its writers.
    std::uint64_t changes = 0;
    std::atomic<std::uint64_t> rounds = 0;
    std::atomic<bool> rests = false;

  private:
    void run() {
        gate_.close();
        while (!stop_) {
            ++changes;
            ++rounds;
            if (gate_.wanted()) {
                gate_.give_way();
            }
            if (rests) {
                gate_.open();
                std::this_thread::sleep_for(50us);
                gate_.close();
            }
        }
        gate_.open();
    }
    Gate& gate_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

TEST(Gate, TellsHowLongAVisitorWasInside) {
    Gate gate;
    gate.close();
    EXPECT_EQ(gate.give_way().inside, 0ns) << "nobody came";
    for (const auto stays : {0ms, 30ms}) {
        std::thread visitor([&] {
            const Gate::Hold hold(gate);
            const Gate::Hold again(gate);
            std::this_thread::sleep_for(stays);
        });
        while (!gate.wanted()) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(200ms);  // which is not the visitor's time
        const auto offered = std::chrono::steady_clock::now();
        const auto [inside, stayed] = gate.give_way();
        EXPECT_TRUE(stayed);
        EXPECT_GE(inside, stays);
        EXPECT_LE(inside, std::chrono::steady_clock::now() - offered);
        visitor.join();
    }
    gate.open();
}

TEST(Gate, VisitorsAndTheDataThreadNeverMeet) {
    constexpr int kVisits = 2000;
    Gate gate;
    DataThread data(gate);
    std::uint64_t visits = 0;
    std::vector<std::thread> visitors;
    for (int n = 0; n < 3; ++n) {
        visitors.emplace_back([&, n] {
            for (int i = 0; i < kVisits; ++i) {
                const auto visit = [&] {
                    const std::uint64_t before = data.changes;
                    ++visits;
                    EXPECT_EQ(data.changes, before);
                    data.rests = i % 4 == n;
                };
                if (i % 2 == 0) {
                    const Gate::Hold hold(gate);
                    visit();
                } else {
                    gate.run(visit);
                }
            }
        });
    }
    for (std::thread& visitor : visitors) {
        visitor.join();
    }
    EXPECT_EQ(visits, std::uint64_t{3} * kVisits);
    EXPECT_EQ(gate.visits(), visits);
}

TEST(Gate, AJobIsDoneByTheDataThreadThatIsAwakeElseByItsVisitor) {
    Gate gate;
    const auto who = [&] { return gate.run([] { return std::this_thread::get_id(); }); };
    EXPECT_EQ(who(), std::this_thread::get_id());
    {
        DataThread data(gate);
        while (data.rounds == 0) {
            std::this_thread::yield();
        }
        EXPECT_NE(who(), std::this_thread::get_id());
        const Gate::Hold hold(gate);
        EXPECT_EQ(who(), std::this_thread::get_id()) << "who has the gate needs nobody";
    }
    EXPECT_EQ(who(), std::this_thread::get_id()) << "the data thread has ended";
}

TEST(Gate, WhatAJobThrowsComesToItsVisitorAndItsLinesGoToTheVisitorsLog) {
    Gate gate;
    DataThread data(gate);
    set_log(77);
    EXPECT_EQ(gate.run([] { return current_log(); }), 77);
    set_log(STDERR_FILENO);
    const std::uint64_t before = data.rounds;
    EXPECT_THROW(gate.run([] { throw std::runtime_error("no"); }), std::runtime_error);
    for (int i = 0; i < 10'000 && data.rounds == before; ++i) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_NE(data.rounds, before);
}

TEST(Gate, JobsWithoutPauseKeepNobodyOut) {
    Gate gate;
    DataThread data(gate);
    std::atomic<bool> stop = false;
    std::vector<std::thread> visitors;
    for (int n = 0; n < 2; ++n) {
        visitors.emplace_back([&] {
            while (!stop) {
                gate.run([] {});
            }
        });
    }
    for (int i = 0; i < 100; ++i) {
        const Gate::Hold hold(gate);
    }
    stop = true;
    for (std::thread& visitor : visitors) {
        visitor.join();
    }
}

TEST(Gate, AVisitorWithoutPauseDoesNotKeepTheDataThreadOut) {
    Gate gate;
    DataThread data(gate);
    std::atomic<bool> stop = false;
    std::thread visitor([&] {
        while (!stop) {
            const Gate::Hold hold(gate);
        }
    });
    const std::uint64_t before = data.rounds;
    for (int i = 0; i < 10'000 && data.rounds < before + 1000; ++i) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_GE(data.rounds, before + 1000);
    stop = true;
    visitor.join();
}

TEST(Gate, AHolderMayHoldItAgainAndTellsOnceThatItLeaves) {
    Gate gate;
    int left = 0;
    gate.on_leave = [&] {
        const Gate::Hold hold(gate);
        ++left;
    };
    {
        const Gate::Hold outer(gate);
        const Gate::Hold inner(gate);
        EXPECT_EQ(left, 0);
    }
    EXPECT_EQ(left, 1);
    gate.close();
    { const Gate::Hold hold(gate); }
    gate.open();
    EXPECT_EQ(left, 1) << "the data thread is no visitor";
}

TEST(Gate, AVisitorIsToldOnceThatItHasEntered) {
    Gate gate;
    std::vector<std::thread::id> entered;
    gate.on_enter = [&] {
        const Gate::Hold hold(gate);
        entered.push_back(std::this_thread::get_id());
    };
    {
        const Gate::Hold outer(gate);
        const Gate::Hold inner(gate);
    }
    gate.run([] {});
    EXPECT_EQ(entered, std::vector(2, std::this_thread::get_id()));
    gate.close();
    { const Gate::Hold hold(gate); }
    gate.open();
    EXPECT_EQ(entered.size(), 2U) << "the data thread is no visitor";
}

}  // namespace
}  // namespace dingo
