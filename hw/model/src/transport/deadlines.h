// SPDX-License-Identifier: BSD-2-Clause
//
// Deadlines of QPs: for an acknowledgement, after an RNR NAK, for a paused region. Each QP has
// three deadlines and one timer, which is set to the earliest.
#pragma once

#include <vector>

#include "../card_context.h"
#include "timers.h"

namespace dingo::model {

/// Retry interval for paused regions.
inline constexpr Nanoseconds kPauseRetry = 100'000;

class Deadlines {
  public:
    explicit Deadlines(CardContext& card) : card_(card) {}

    /// Sets the timer of `qp` after its deadlines have changed.
    void arm(QueuePair& qp);
    /// Pauses the send queue for `delay` ns.
    void pause_sending(QueuePair& qp, Nanoseconds delay);
    /// Retries READ responses after kPauseRetry.
    void pause_responses(QueuePair& qp);
    /// Restarts the time in which the peer must acknowledge (C9-140); stops it if nothing is
    /// outstanding or the QP's timeout is 0.
    void restart_ack(QueuePair& qp);

    /// Called at the beginning and the end of each run(): card.now is the current time only in
    /// between.
    void begin_run();
    void end_run();
    /// Returns a QP with an expired deadline and disarms its timer; nullptr if none. The caller
    /// clears the deadline and arms the timer again.
    QueuePair* take_due() { return timers_.take_due(card_.now); }
    /// Earliest deadline of all QPs; kNever if none.
    [[nodiscard]] Nanoseconds earliest() const noexcept { return timers_.earliest(); }

    /// Drops all references to `qp`, which may be destroyed then.
    void forget(QueuePair& qp);

  private:
    /// Frames arrive between two run()s, when card.now is still that of the earlier one: `stale`
    /// marks a deadline computed from it.
    void note_time(QueuePair& qp, bool& stale);
    void correct_times();

    CardContext& card_;
    Timers timers_;
    std::vector<QueuePair*> stale_;  ///< QPs with deadlines that the next run() corrects
    Nanoseconds last_now_ = 0;       ///< time of the last run()
    bool running_ = false;
};

}  // namespace dingo::model
