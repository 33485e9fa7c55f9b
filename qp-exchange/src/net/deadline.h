// SPDX-License-Identifier: BSD-2-Clause
// Deadlines of calls, and their cancellation.
#pragma once
#include <poll.h>

#include <chrono>
#include <span>

#include "net/fd.h"

namespace qpx::net {

using Clock = std::chrono::steady_clock;

/// Cancels a waiting call from another thread or a signal handler.
class Interrupt {
  public:
    /// @param on_signal a wait interrupted by any signal handler ends, too. @throws Error(Limit)
    explicit Interrupt(bool on_signal = false);

    /// Cancels the waiting call, else the next one that would wait. Async-signal-safe.
    void cancel() noexcept;
    /// Readable after cancel().
    int fd() const { return fd_.get(); }
    bool on_signal() const { return on_signal_; }
    /// @throws Error(Cancelled) if cancel() was called since the last check
    void check();

  private:
    Fd fd_;
    bool on_signal_;
};

/// A point in time at which a call times out, with an optional interrupt.
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
    /// Returns a deadline with another time and the same interrupt.
    Deadline moved_to(Clock::time_point at) const { return Deadline(at, interrupt_); }
    bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
    /// Timeout for poll(): milliseconds rounded up, -1 for never.
    int poll_ms() const;

    /// Waits until one of the descriptors is ready. @return false if the deadline passed
    /// @throws Error Cancelled; PeerGone if poll() fails
    bool wait(std::span<pollfd> descriptors) const;
    /// Sleeps for `time`, at most until the deadline.
    void pause(std::chrono::milliseconds time) const;

  private:
    Clock::time_point at_;
    Interrupt* interrupt_;
};

}  // namespace qpx::net
