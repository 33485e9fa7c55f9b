// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <vector>

#include "base/poller.h"
#include "cpu_pressure.h"
#include "idle_policy.h"
#include "served_card.h"

namespace dingo {

/// What the program does until it is told to stop: one thread that gives its cards, their hosts and
/// their wires their rounds, and sleeps in its poller when none has work.
class CardLoop final : private Pollable {
  public:
    /// `stop_fd` becomes readable when run() shall return (a signalfd).
    CardLoop(const IdlePolicy::Limits& idle, int stop_fd);
    ~CardLoop() override;
    CardLoop(const CardLoop&) = delete;
    CardLoop& operator=(const CardLoop&) = delete;

    /// A card to be served from the next round on; it is removed, or outlives the loop. A card may
    /// add another one. Throws ErrnoError.
    void add(ServedCard& card);
    /// Switches a card off and serves it no more. Not while a card is served: see later().
    void remove(ServedCard& card);
    /// Runs `task` between two rounds, when no card is being served.
    void later(std::function<void()> task) { tasks_.push_back(std::move(task)); }

    /// Until stop_fd is readable or end() was called; then all cards are switched off.
    void run();
    void end() { stop_ = true; }

  private:
    /// stop_fd.
    void ready(std::uint32_t /*events*/) override { stop_ = true; }
    bool round(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// All cards, or none.
    bool prepare_sleep(Nanoseconds now);
    /// Serves what is ready; waits for nothing.
    void look(Nanoseconds now);
    /// Waits at most `timeout` (kNever: until something happens) and serves what is ready.
    void wait(Nanoseconds timeout, bool asleep);

    Poller poller_;
    IdlePolicy idle_;
    CpuPressure pressure_;
    std::vector<ServedCard*> cards_;
    std::vector<std::function<void()>> tasks_;
    LoopStats stats_;
    Nanoseconds last_wait_ = 0;
    bool stop_ = false;
};

}  // namespace dingo
