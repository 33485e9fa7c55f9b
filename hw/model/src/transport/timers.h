// SPDX-License-Identifier: BSD-2-Clause
//
// One timer per QP, in a binary heap. Moving a deadline to a later time is only a store: the heap
// keeps the earlier key and corrects it when it expires, so an ACK that restarts the timer is
// cheap.
#pragma once

#include <cstdint>
#include <vector>

#include "dingo/engine.h"

namespace dingo::model {

struct QueuePair;

/// The hook of a QP in the timers.
struct TimerHook {
    static constexpr std::uint32_t kOut = ~0U;
    Nanoseconds deadline = kNever;  ///< current deadline of the QP
    std::uint32_t position = kOut;  ///< index in the heap
};

class Timers {
  public:
    /// Sets the deadline of `qp`; kNever disarms it.
    void set(QueuePair& qp, Nanoseconds deadline);
    /// Removes `qp` at once, which may be destroyed then.
    void remove(QueuePair& qp);
    /// Returns a QP whose deadline is not after `now` and disarms it; nullptr if none.
    QueuePair* take_due(Nanoseconds now);
    /// Earliest deadline; kNever if nothing is armed.
    [[nodiscard]] Nanoseconds earliest() const noexcept {
        return heap_.empty() ? kNever : heap_[0].key;
    }
    /// Removes moved and disarmed entries from the top, so that earliest() is exact.
    void settle();

  private:
    struct Entry {
        Nanoseconds key;
        QueuePair* qp;
    };
    void place(std::uint32_t position, Entry entry);
    void sift_up(std::uint32_t position, Entry entry);
    void sift_down(std::uint32_t position, Entry entry);
    void erase(std::uint32_t position);

    std::vector<Entry> heap_;
};

}  // namespace dingo::model
