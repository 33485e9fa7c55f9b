// SPDX-License-Identifier: BSD-2-Clause
// How long a call may wait, and what may end it before.
#pragma once
#include <poll.h>

#include <chrono>
#include <span>

#include "net/fd.h"

namespace qpx::net {

using Clock = std::chrono::steady_clock;

/// Ends a call that waits, from another thread or a signal handler.
class Interrupt {
  public:
    /// @param on_signal a wait that any signal handler interrupts ends, too. @throws Error(Limit)
    explicit Interrupt(bool on_signal = false);

    /// The call that waits now, else the next that would. Safe in signal handlers.
    void cancel() noexcept;
    /// Ready for reading after cancel().
    int fd() const { return fd_.get(); }
    bool on_signal() const { return on_signal_; }
    /// @throws Error(Cancelled) once for each cancel() since the last call
    void check();

  private:
    Fd fd_;
    bool on_signal_;
};

/// A moment until which something may last.
class Deadline {
  public:
    static Deadline never() { return Deadline(Clock::time_point::max()); }
    /// Negative: never.
    static Deadline in(std::chrono::milliseconds time, Interrupt* interrupt = nullptr) {
        return Deadline(time.count() < 0 ? Clock::time_point::max() : Clock::now() + time,
                        interrupt);
    }
    explicit Deadline(Clock::time_point at, Interrupt* interrupt = nullptr)
        : at_(at), interrupt_(interrupt) {}

    Clock::time_point at() const { return at_; }
    /// Another moment, the same interrupt.
    Deadline moved_to(Clock::time_point at) const { return Deadline(at, interrupt_); }
    bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
    /// What poll() wants: milliseconds rounded up, -1 for never.
    int poll_ms() const;

    /// Until one of the descriptors is ready. @return false: the deadline passed.
    /// @throws Error Cancelled; PeerGone when poll() fails
    bool wait(std::span<pollfd> descriptors) const;
    /// Lets a part of the time pass.
    void pause(std::chrono::milliseconds time) const;

  private:
    Clock::time_point at_;
    Interrupt* interrupt_;
};

}  // namespace qpx::net
