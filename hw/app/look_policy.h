// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "dingo/engine.h"

namespace dingo {

/// Decides when a loop serves its sockets between two rounds. While cards have work, clients'
/// requests get a tenth of the time, so that they do not delay the data of other clients.
class LookPolicy {
  public:
    [[nodiscard]] bool due(Nanoseconds now) const { return now >= next_; }

    /// Reports when serving began and how long it took. `busy`: cards have work.
    void looked(Nanoseconds now, Nanoseconds took, bool busy) {
        const Nanoseconds pause = busy ? std::min(took * kRest, kLongest) : 0;
        next_ = now + took + std::max(pause, kEvery);
    }

  private:
    static constexpr Nanoseconds kEvery = 10'000;
    static constexpr Nanoseconds kRest = 9;
    /// Maximum pause: serving a large registration may take many milliseconds, after which the next
    /// client should not wait so long.
    static constexpr Nanoseconds kLongest = 10'000'000;
    Nanoseconds next_ = 0;
};

}  // namespace dingo
