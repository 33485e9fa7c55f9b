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

/// What a thread does that serves cards: it gives them and their wires their rounds, and sleeps in
/// its poller when none has work. Alone it serves their hosts, too, and is all that the program
/// does until it is told to stop. Beside a ControlLoop it is the data thread, which makes no system
/// call that a client could make slow, and holds the cards' gate while it is awake.
class CardLoop final : private Pollable {
  public:
    /// `stop_fd` becomes readable when run() shall return (a signalfd).
    CardLoop(const IdlePolicy::Limits& idle, int stop_fd);
    /// A data thread: run() returns after end(). `gate` is that of all its cards.
    CardLoop(const IdlePolicy::Limits& idle, std::shared_ptr<Gate> gate);
    ~CardLoop() override;
    CardLoop(const CardLoop&) = delete;
    CardLoop& operator=(const CardLoop&) = delete;

    /// A card to be served from the next round on; it is removed, or outlives the loop. A data
    /// thread's cards come and go in other threads. Throws ErrnoError.
    void add(ServedCard& card);
    /// Serves it no more; not while it is served. A data thread's card is stopped before.
    void remove(ServedCard& card);

    /// Until stop_fd is readable or end() was called; then cards without a control thread are
    /// switched off. Throws what the cards' engines and wires throw, in this thread or in a
    /// visitor's.
    void run();
    /// Any thread.
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
    /// Lets a visitor in when it is time to. `busy`: cards have work.
    void give_way(bool busy);
    void await_judge();
    bool round(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const;
    /// Prepares all cards for sleep; false: none, one has work.
    bool prepare_sleep(Nanoseconds now);
    /// Serves ready descriptors when it is time to, without waiting. `busy`: cards have work.
    void look(Nanoseconds now, bool busy);
    /// Waits at most `timeout` (kNever: until something happens) and serves what is ready.
    void wait(Nanoseconds timeout, bool asleep);

    std::shared_ptr<Gate> gate_;  ///< null: there is no control thread
    UniqueFd wake_;               ///< of a data thread that waits
    Poller poller_;
    IdlePolicy idle_;
    std::optional<FaultWatch> faults_;  ///< of a data thread, while it runs
    std::vector<ServedCard*> cards_;
    LoopStats stats_;
    LookPolicy look_;
    LookPolicy visits_;
    bool waits_ = false;          ///< the thread waits and nobody has woken it yet
    std::exception_ptr failure_;  ///< of visited(), for run() to throw
    std::atomic<bool> stop_ = false;
};

}  // namespace dingo
