// SPDX-License-Identifier: BSD-2-Clause
//
// Up to when a QP waits: for an acknowledgement, after an RNR NAK, for a paused region. Each QP has
// three deadlines and one timer, which is set to the earliest.
#pragma once

#include <vector>

#include "../card_context.h"
#include "timers.h"

namespace dingo::model {

/// Looks again after this time at a paused region.
inline constexpr Nanoseconds kPauseRetry = 100'000;

class Deadlines {
  public:
    explicit Deadlines(CardContext& card) : card_(card) {}

    /// The deadlines of `qp` have changed: sets its timer.
    void arm(QueuePair& qp);
    /// Nothing of the send queue leaves before `delay` (ns) is over.
    void pause_sending(QueuePair& qp, Nanoseconds delay);
    /// READ responses are tried again when kPauseRetry is over.
    void pause_responses(QueuePair& qp);
    /// The time in which the peer owes an acknowledgement begins now (C9-140); when nothing is
    /// outstanding or the QP's timeout is 0, it owes none.
    void restart_ack(QueuePair& qp);

    /// At the beginning and the end of each run(): only between them is card.now the present time.
    void begin_run();
    void end_run();
    /// Takes one QP whose deadline is over and disarms its timer; nullptr: none. The caller clears
    /// the deadline and arms the timer again.
    QueuePair* take_due() { return timers_.take_due(card_.now); }
    /// Earliest deadline of all QPs; kNever: none.
    [[nodiscard]] Nanoseconds earliest() const noexcept { return timers_.earliest(); }

    /// Forgets `qp` at once: it may be destroyed.
    void forget(QueuePair& qp);

  private:
    /// Frames arrive between two run()s, when only the time of the earlier one is known: `stale`
    /// marks a deadline that counts from it.
    void note_time(QueuePair& qp, bool& stale);
    void correct_times();

    CardContext& card_;
    Timers timers_;
    std::vector<QueuePair*> stale_;  ///< QPs with deadlines that the next run() corrects
    Nanoseconds last_now_ = 0;       ///< time of the last run()
    bool running_ = false;
};

}  // namespace dingo::model
