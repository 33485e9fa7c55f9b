// SPDX-License-Identifier: BSD-2-Clause
//
// Relates the card's clock to the time of day: measures periodically and publishes the result for
// clients that want time stamps as CLOCK_REALTIME (dingo-abi.h: struct dingo_clock_page).
#pragma once

#include <atomic>

#include "dingo/engine.h"
#include "host/driver/status_page.h"

namespace dingo::uverbs {

class Clock {
  public:
    explicit Clock(StatusPage& page) : page_(page) { measure(); }

    /// Called after a round of the card at `now`: measures if the last measurement is old.
    /// Thread-safe.
    void poll(Nanoseconds now) {
        if (now >= next_.load(std::memory_order_relaxed) &&
            !measures_.exchange(true, std::memory_order_acquire)) {
            measure();
            next_.store(now + kEvery, std::memory_order_relaxed);
            measures_.store(false, std::memory_order_release);
        }
    }

  private:
    /// CLOCK_MONOTONIC is slewed like CLOCK_REALTIME. They diverge only when the time is set, which
    /// is noticed after at most this period.
    static constexpr Nanoseconds kEvery = 500'000'000;
    void measure();

    StatusPage& page_;
    std::atomic<Nanoseconds> next_ = kEvery;
    /// Set while a thread measures. The thread may be descheduled for long, and the page may have
    /// only one writer.
    std::atomic<bool> measures_ = false;
};

}  // namespace dingo::uverbs
