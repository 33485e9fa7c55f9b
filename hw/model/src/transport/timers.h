// SPDX-License-Identifier: BSD-2-Clause
//
// One timer a QP, in a binary heap. Moving a deadline later is a store: the heap keeps the earlier
// key and looks again when it comes due, so that an ACK that restarts the timer costs nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "dingo/engine.h"

namespace dingo::model {

struct QueuePair;

/// The hook that a QP carries.
struct TimerHook {
    static constexpr std::uint32_t kOut = ~0U;
    Nanoseconds deadline = kNever;  ///< when the QP wants to be called
    std::uint32_t position = kOut;  ///< in the heap
};

class Timers {
  public:
    /// Sets the deadline of `qp`; kNever disarms it.
    void set(QueuePair& qp, Nanoseconds deadline);
    /// Forgets `qp` at once: it may be destroyed.
    void remove(QueuePair& qp);
    /// Takes one QP whose deadline is not after `now` and disarms it; nullptr when there is none.
    QueuePair* take_due(Nanoseconds now);
    /// Earliest deadline; kNever when nothing is armed.
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
