// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/unique_fd.h"
#include "dingo/engine.h"

namespace dingo {

/// Detects whether the card's thread has to wait for a processor, from the scheduler's counter
/// (/proc/thread-self/schedstat). On a machine with fewer processors than polling threads, clients
/// must yield after an empty poll; otherwise the card runs milliseconds late.
class CpuPressure {
  public:
    /// Construct it in the card's thread.
    CpuPressure();

    /// Takes a sample, at most once per kPeriod. Returns true if crowded() has changed.
    bool sample(Nanoseconds now);
    [[nodiscard]] bool crowded() const { return crowded_; }

  private:
    static constexpr Nanoseconds kPeriod = 5'000'000;
    /// While clients yield, the card does not wait, so the last positive result is kept for this
    /// time.
    static constexpr Nanoseconds kKeep = 2'000'000'000;

    /// Gets the nanoseconds that the thread was runnable but not running. Returns false if the
    /// counter is not available.
    bool waited(std::uint64_t& ns) const;

    UniqueFd schedstat_;
    std::uint64_t waited_ = 0;
    Nanoseconds sampled_ = 0;
    Nanoseconds found_ = 0;
    bool crowded_ = false;
};

}  // namespace dingo
