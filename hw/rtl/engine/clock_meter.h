// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <ctime>

#include "dingo/engine.h"

namespace dingo::rtl {

/// Counts cycles of the card's clock, and the real and CPU time that they take.
class ClockMeter {
  public:
    /// Measures the time from construction to destruction.
    class Busy {
      public:
        explicit Busy(ClockMeter& meter)
            : meter_(meter),
              start_(read(CLOCK_MONOTONIC)),
              processor_(read(CLOCK_THREAD_CPUTIME_ID)) {}
        ~Busy() {
            meter_.total_.busy += read(CLOCK_MONOTONIC) - start_;
            meter_.total_.processor += read(CLOCK_THREAD_CPUTIME_ID) - processor_;
        }
        Busy(const Busy&) = delete;
        Busy& operator=(const Busy&) = delete;

      private:
        static Nanoseconds read(clockid_t clock) {
            timespec t{};
            ::clock_gettime(clock, &t);
            return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 +
                   static_cast<Nanoseconds>(t.tv_nsec);
        }

        ClockMeter& meter_;
        Nanoseconds start_;
        Nanoseconds processor_;
    };

    void count() { ++total_.cycles; }
    [[nodiscard]] const SimulatedClock& total() const { return total_; }

  private:
    SimulatedClock total_;
};

}  // namespace dingo::rtl
