// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/unique_fd.h"
#include "dingo/engine.h"

namespace dingo {

/// Whether the card's thread has to wait for a processor, as the scheduler counts it
/// (/proc/thread-self/schedstat). On a machine with fewer processors than polling threads, clients
/// that find nothing must yield; otherwise the card runs milliseconds late.
class CpuPressure {
  public:
    /// Construct it in the card's thread.
    CpuPressure();

    /// Samples, but not more often than kPeriod. True: crowded() has changed.
    bool sample(Nanoseconds now);
    [[nodiscard]] bool crowded() const { return crowded_; }

  private:
    static constexpr Nanoseconds kPeriod = 5'000'000;
    /// While clients yield, the card does not wait, so the last result is kept for this time.
    static constexpr Nanoseconds kKeep = 2'000'000'000;

    /// Nanoseconds that the thread was runnable and did not run; false without that counter.
    bool waited(std::uint64_t& ns) const;

    UniqueFd schedstat_;
    std::uint64_t waited_ = 0;
    Nanoseconds sampled_ = 0;
    Nanoseconds found_ = 0;
    bool crowded_ = false;
};

}  // namespace dingo
