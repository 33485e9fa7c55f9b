// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/poller.h"
#include "base/unique_fd.h"

namespace dingo {

class ServedCard;

/// The control thread of a process with kernel-less cards: it serves their sockets, clients and
/// drivers, and may be slow, while the data thread (CardLoop) serves engines and wires. The control
/// thread holds the turn while it serves something; the turn's holder may use all that it uses.
class ControlLoop {
  public:
    /// `stop_fd` becomes readable (a signalfd) to make run() return.
    explicit ControlLoop(int stop_fd);
    ControlLoop(const ControlLoop&) = delete;
    ControlLoop& operator=(const ControlLoop&) = delete;

    // Called in the control thread, or before run():

    /// Throws ErrnoError.
    void add(ServedCard& card);
    /// Stops the card's host and serves the card no longer.
    void remove(ServedCard& card);
    /// Runs `task` when nothing is being served.
    void later(std::function<void()> task) { tasks_.push_back(std::move(task)); }
    /// Runs until stop_fd is readable or end() is called; then all hosts are stopped.
    void run();

    // Thread-safe:

    void end();
    /// Makes the control thread serve pending work soon.
    void wake();
    /// Tries to take the turn without waiting; the caller has it while the returned lock is owned.
    [[nodiscard]] std::unique_lock<std::mutex> try_turn() {
        return std::unique_lock(turn_, std::try_to_lock);
    }

  private:
    struct Waker final : Pollable {
        Waker();
        void ready(std::uint32_t events) override;
        UniqueFd fd;
        std::atomic<bool> told = false;
    };
    struct Stopper final : Pollable {
        explicit Stopper(ControlLoop& l) : loop(l) {}
        void ready(std::uint32_t /*events*/) override { loop.stop_ = true; }
        ControlLoop& loop;
    };
    /// Gives rounds to the hosts. Returns for how long nothing is due.
    std::uint64_t settle();
    void run_tasks();

    std::mutex turn_;
    Poller poller_;
    Waker waker_;
    Stopper stopper_{*this};
    std::vector<ServedCard*> cards_;
    std::vector<std::function<void()>> tasks_;
    std::atomic<bool> stop_ = false;
};

}  // namespace dingo
