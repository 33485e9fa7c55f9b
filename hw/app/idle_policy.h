// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "dingo/engine.h"

namespace dingo {

/// A waiting time that adapts to how long the card sleeps. After a sleep shorter than the limit,
/// which should have been a wait, the time doubles. After a longer sleep it halves, down to 0: an
/// idle card uses no processor time.
class AdaptiveTime {
  public:
    explicit AdaptiveTime(Nanoseconds limit) : limit_(limit) {}

    [[nodiscard]] Nanoseconds current() const { return current_; }

    /// Reports how long the card slept.
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

/// Decides what a card does without work: it polls without pause (spins), then with pauses (naps),
/// then sleeps and asks for kicks.
///
/// A doorbell reaches a spinning card at once and a napping card at the end of the nap. A sleeping
/// card needs a kick, which costs the guest about 40 us per doorbell under QEMU without KVM. Frames
/// and messages end a nap at once. A nap takes a quarter of the time since the last work, which
/// limits the delay of a doorbell, and naps cost less the longer the card is idle. Naps are off by
/// default: on cores used by guests their latency was worse than that of kicks (measured).
class IdlePolicy {
  public:
    struct Limits {
        Nanoseconds spin = 20'000;  ///< longest time to spin
        Nanoseconds nap = 0;        ///< longest time to nap; 0: never
    };
    enum class Act { kSpin, kNap, kSleep };

    explicit IdlePolicy(const Limits& limits) : spin_(limits.spin), nap_(limits.nap) {}

    /// Returns what to do after `idle` nanoseconds without work.
    [[nodiscard]] Act act(Nanoseconds idle) const {
        if (idle < spin_.current()) {
            return Act::kSpin;
        }
        return idle < nap_.current() ? Act::kNap : Act::kSleep;
    }

    /// Returns the length of the next nap after `idle` nanoseconds without work.
    [[nodiscard]] static Nanoseconds nap_length(Nanoseconds idle) {
        return std::clamp(idle / 4, kShortestNap, kLongestNap);
    }

    void slept(Nanoseconds time) {
        spin_.slept(time);
        nap_.slept(time);
    }

  private:
    static constexpr Nanoseconds kShortestNap = 4'000;
    static constexpr Nanoseconds kLongestNap = 40'000;
    AdaptiveTime spin_;
    AdaptiveTime nap_;
};

}  // namespace dingo
