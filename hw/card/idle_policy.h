// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "dingo/engine.h"

namespace dingo::card {

/// A time that adapts to how long the card sleeps. A sleep shorter than the limit would have been
/// better waited through, so the time doubles; a longer one was rightly slept, and the time halves
/// down to nothing: an idle card costs no processor.
class AdaptiveTime {
  public:
    explicit AdaptiveTime(Nanoseconds limit) : limit_(limit) {}

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

/// What a card does that has run out of work: it looks around without pause (spins), then with
/// pauses (naps), then sleeps and asks for kicks.
///
/// A doorbell finds a spinning card at once and a napping one after half a nap; to a sleeping one
/// it needs a kick, for which the host pays: some 100 us under QEMU without KVM. Frames and
/// messages end a nap at once. Naps cost a tenth of a core, and a core shared with the guest less
/// than spinning does, as a thread that naps is let in when it wakes.
class IdlePolicy {
  public:
    struct Limits {
        Nanoseconds spin = 20'000;    ///< longest time to spin
        Nanoseconds nap = 2'000'000;  ///< longest time to nap
    };
    static constexpr Nanoseconds kNapLength = 20'000;

    enum class Act { kSpin, kNap, kSleep };

    explicit IdlePolicy(const Limits& limits) : spin_(limits.spin), nap_(limits.nap) {}

    /// What to do now, without work for `idle`.
    [[nodiscard]] Act act(Nanoseconds idle) const {
        if (idle < spin_.current()) {
            return Act::kSpin;
        }
        return idle < nap_.current() ? Act::kNap : Act::kSleep;
    }

    void slept(Nanoseconds time) {
        spin_.slept(time);
        nap_.slept(time);
    }

  private:
    AdaptiveTime spin_;
    AdaptiveTime nap_;
};

}  // namespace dingo::card
