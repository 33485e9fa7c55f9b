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
/// drivers, and may be slow. The data thread (CardLoop) serves engines and wires. While this thread
/// serves something it has the turn; the turn's holder may use all that this thread uses.
class ControlLoop {
  public:
    /// `stop_fd` becomes readable when run() shall return (a signalfd).
    explicit ControlLoop(int stop_fd);
    ControlLoop(const ControlLoop&) = delete;
    ControlLoop& operator=(const ControlLoop&) = delete;

    // In the control thread, or before run().

    /// Throws ErrnoError.
    void add(ServedCard& card);
    /// Stops its host and serves it no more.
    void remove(ServedCard& card);
    /// Runs `task` when nothing is being served.
    void later(std::function<void()> task) { tasks_.push_back(std::move(task)); }
    /// Until stop_fd is readable or end() was called; then all hosts are stopped.
    void run();

    // In any thread.

    void end();
    /// Serves what is pending soon.
    void wake();
    /// Owned: the caller has the turn for as long as this lives. Never waits.
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
    /// Gives hosts their rounds. Returns how long there is nothing to do.
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
