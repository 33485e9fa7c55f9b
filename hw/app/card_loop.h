// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/gate.h"
#include "base/poller.h"
#include "base/unique_fd.h"
#include "fault_watch.h"
#include "idle_policy.h"
#include "look_policy.h"
#include "served_card.h"

namespace dingo {

/// The loop of a thread that serves cards: it gives rounds to the cards and their wires, and sleeps
/// in its poller when none has work. Without a control thread it also serves their hosts and is the
/// program's main loop. With a ControlLoop it is the data thread, which makes no system call that a
/// client could slow down, and holds the cards' gate while it is awake.
class CardLoop final : private Pollable {
  public:
    /// `stop_fd` becomes readable (a signalfd) to make run() return.
    CardLoop(const IdlePolicy::Limits& idle, int stop_fd);
    /// A data thread: run() returns after end(). `gate` is that of all its cards.
    CardLoop(const IdlePolicy::Limits& idle, std::shared_ptr<Gate> gate);
    ~CardLoop() override;
    CardLoop(const CardLoop&) = delete;
    CardLoop& operator=(const CardLoop&) = delete;

    /// Serves a card from the next round on. The card must be removed or outlive the loop. Other
    /// threads may add and remove a data thread's cards. Throws ErrnoError.
    void add(ServedCard& card);
    /// Stops serving a card, but not while it is being served. A data thread's card must be stopped
    /// before.
    void remove(ServedCard& card);

    /// Runs until stop_fd is readable or end() is called; then cards without a control thread are
    /// switched off. Throws exceptions of engines and wires, raised in this thread or in a
    /// visitor's.
    void run();
    /// Thread-safe.
    void end();

    /// Called in another thread when a client has held the data thread up for too long (Offenders).
    /// Set before run().
    std::function<void()> on_offence;

  private:
    /// stop_fd, or wake_.
    void ready(std::uint32_t events) override;
    void serve();
    /// Called when a visitor is about to leave the gate. An error here ends run(), not the visitor.
    void visited() noexcept;
    void serve_visited();
    /// Lets a visitor in when one is due. `busy`: cards have work.
    void give_way(bool busy);
    void await_judge();
    bool round(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// Prepares all cards for sleep. Returns false if one has work; then none sleeps.
    bool prepare_sleep(Nanoseconds now);
    /// Serves ready descriptors when that is due, without waiting. `busy`: cards have work.
    void look(Nanoseconds now, bool busy);
    /// Waits at most `timeout` (kNever: without limit) and serves ready descriptors.
    void wait(Nanoseconds timeout, bool asleep);

    std::shared_ptr<Gate> gate_;  ///< null without a control thread
    UniqueFd wake_;               ///< wakes a waiting data thread
    Poller poller_;
    IdlePolicy idle_;
    std::optional<FaultWatch> faults_;  ///< of a data thread, while it runs
    std::vector<ServedCard*> cards_;
    LoopStats stats_;
    LookPolicy look_;
    LookPolicy visits_;
    bool waits_ = false;          ///< the thread waits and was not woken yet
    std::exception_ptr failure_;  ///< of visited(), for run() to throw
    std::atomic<bool> stop_ = false;
};

}  // namespace dingo
