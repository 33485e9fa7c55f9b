// SPDX-License-Identifier: BSD-2-Clause
//
// Which time of day it is by the card's clock: measured again and again, and published for clients
// that want time stamps as CLOCK_REALTIME (dingo-abi.h: struct dingo_clock_page).
#pragma once

#include <atomic>

#include "dingo/engine.h"
#include "host/driver/status_page.h"

namespace dingo::uverbs {

class Clock {
  public:
    explicit Clock(StatusPage& page) : page_(page) { measure(); }

    /// After a round of the card at `now`: measures when the last time is a while ago.
    /// Any thread may.
    void poll(Nanoseconds now) {
        if (now >= next_.load(std::memory_order_relaxed) &&
            !measures_.exchange(true, std::memory_order_acquire)) {
            measure();
            next_.store(now + kEvery, std::memory_order_relaxed);
            measures_.store(false, std::memory_order_release);
        }
    }

  private:
    /// CLOCK_MONOTONIC is slewed with CLOCK_REALTIME. They drift apart only when the time is set,
    /// and this is how late that is noticed.
    static constexpr Nanoseconds kEvery = 500'000'000;
    void measure();

    StatusPage& page_;
    std::atomic<Nanoseconds> next_ = kEvery;
    /// A thread does. It may be stopped there for long, and the page has one writer at a time.
    std::atomic<bool> measures_ = false;
};

}  // namespace dingo::uverbs
