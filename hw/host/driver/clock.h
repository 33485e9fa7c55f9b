// SPDX-License-Identifier: BSD-2-Clause
//
// Which time of day it is by the card's clock: measured again and again, and published for clients
// that want time stamps as CLOCK_REALTIME (dingo-abi.h: struct dingo_clock_page).
#pragma once

#include "dingo/engine.h"
#include "host/driver/status_page.h"

namespace dingo::uverbs {

class Clock {
  public:
    explicit Clock(StatusPage& page) : page_(page) { measure(0); }

    /// After a round of the card at `now`: measures when the last time is a while ago.
    void poll(Nanoseconds now) {
        if (now >= next_) {
            measure(now);
        }
    }

  private:
    void measure(Nanoseconds now);

    StatusPage& page_;
    Nanoseconds next_ = 0;
};

}  // namespace dingo::uverbs
