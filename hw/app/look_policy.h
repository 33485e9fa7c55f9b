// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "dingo/engine.h"

namespace dingo {

/// When a loop looks at its sockets between two rounds. While cards have work, what clients ask for
/// gets a tenth of the time, so that nobody's requests stop another client's data.
class LookPolicy {
  public:
    [[nodiscard]] bool due(Nanoseconds now) const { return now >= next_; }

    /// Tells when a look began and how long it took. `busy`: cards have work.
    void looked(Nanoseconds now, Nanoseconds took, bool busy) {
        const Nanoseconds pause = busy ? std::min(took * kRest, kLongest) : 0;
        next_ = now + took + std::max(pause, kEvery);
    }

  private:
    static constexpr Nanoseconds kEvery = 10'000;
    static constexpr Nanoseconds kRest = 9;
    /// Registering a large region is one look of many milliseconds: the next client waits less.
    static constexpr Nanoseconds kLongest = 10'000'000;
    Nanoseconds next_ = 0;
};

}  // namespace dingo
