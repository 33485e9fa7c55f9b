// SPDX-License-Identifier: BSD-2-Clause
// One descriptor that is readable when a call of an event loop would find something, whatever that
// call waits for: sockets, bytes that were read already, moments.
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
    /// Call before a watched descriptor is handed on; not needed before closing it.
    void forget(int fd);
    /// There is work that no descriptor shows.
    void set(bool ready);
    /// Readable from this moment on; none: never by time.
    void wake_at(std::optional<Clock::time_point> at);

    /// How often to look at sources without a descriptor to wait on.
    static constexpr std::chrono::milliseconds tick{4};

  private:
    Fd epoll_, event_, timer_;
    bool set_ = false;
    std::optional<Clock::time_point> at_;
};

}  // namespace qpx::net
