// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "dingo/engine.h"

namespace dingo::card {

/// How long an idle card looks for work before it sleeps. A sleep shorter than the limit would
/// have been better spun through, so the time doubles; a longer one was rightly slept, and the
/// time halves down to nothing: an idle card costs no processor.
class SpinPolicy {
  public:
    explicit SpinPolicy(Nanoseconds limit) : limit_(limit) {}

    [[nodiscard]] Nanoseconds current() const { return current_; }

    /// The card slept for so long.
    void slept(Nanoseconds time) {
        if (time < limit_) {
            current_ = std::min(limit_, std::max(current_ * 2, kFirst));
        } else {
            current_ = current_ > kFirst ? current_ / 2 : 0;
        }
    }

  private:
    static constexpr Nanoseconds kFirst = 2'000;
    Nanoseconds limit_;
    Nanoseconds current_ = 0;
};

}  // namespace dingo::card
