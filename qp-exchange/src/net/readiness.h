// SPDX-License-Identifier: BSD-2-Clause
// One descriptor for event loops that combines all that a
// call may wait for: sockets, bytes that were already read, and points in time.
#pragma once
#include <chrono>
#include <optional>

#include "net/deadline.h"

namespace qpx::net {

class Readiness {
  public:
    /// @throws Error(Limit) no descriptors left
    Readiness();

    int fd() const { return epoll_.get(); }
    void watch(int fd, bool readable, bool writable);
    /// Must be called before a watched descriptor is passed on; not needed before closing it.
    void forget(int fd);
    /// Makes the descriptor readable (or not) for work that no watched descriptor shows.
    void set(bool ready);
    /// Makes the descriptor readable from this time on; nullopt: no timer.
    void wake_at(std::optional<Clock::time_point> at);

    /// Polling interval for sources without a descriptor to wait on.
    static constexpr std::chrono::milliseconds tick{4};

  private:
    Fd epoll_, event_, timer_;
    bool set_ = false;
    std::optional<Clock::time_point> at_;
};

}  // namespace qpx::net
