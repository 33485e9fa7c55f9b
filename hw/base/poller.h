// SPDX-License-Identifier: BSD-2-Clause
//
// Waits for the descriptors of one thread (epoll) and calls an object for each that is ready.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/unique_fd.h"

namespace dingo {

/// Callback of a descriptor that is ready.
class Pollable {
  public:
    virtual ~Pollable() = default;
    /// `events`: EPOLL* bits.
    virtual void ready(std::uint32_t events) = 0;
};

class PollGroup;

/// A level-triggered set of descriptors. A wait costs O(ready members). One poller may be a member
/// of another one.
class Poller {
  public:
    /// Timeout of wait(): no limit.
    static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

    /// Throws std::system_error.
    Poller();

    /// Readable when a member is ready.
    [[nodiscard]] int fd() const { return epoll_.get(); }

    using Id = std::uint64_t;
    /// `events`: EPOLLIN, EPOLLOUT, both, or 0 for errors only. `who` and `group` must outlive the
    /// membership. Throws ErrnoError.
    Id add(int fd, std::uint32_t events, Pollable& who, PollGroup* group = nullptr);
    void change(Id id, std::uint32_t events);
    /// Call it before the descriptor is closed. No further event is delivered, not even one already
    /// collected.
    void remove(Id id);

    /// Most members that one wait() calls.
    static constexpr std::size_t kMost = 128;
    /// Waits at most `timeout` nanoseconds until a member is ready, then calls ready() of at most
    /// `most` (and kMost) members, once each. Members that are left over come first in the next
    /// wait().
    void wait(std::uint64_t timeout, std::size_t most = kMost) { tell(collect(timeout, most)); }

    /// The two halves of wait(), for a thread that holds a lock while it calls members but not
    /// while it waits. collect() may run while another thread adds, changes or removes members.
    struct Found {
        std::array<epoll_event, kMost> events;
        int count = 0;
    };
    [[nodiscard]] Found collect(std::uint64_t timeout, std::size_t most = kMost);
    void tell(const Found& found);

  private:
    struct Member {
        int fd;
        Pollable* who;
        PollGroup* group;
    };
    int wait_for(epoll_event* events, int most, std::uint64_t timeout);

    UniqueFd epoll_;
    std::unordered_map<Id, Member> members_;
    Id next_ = 1;
    std::uint64_t waits_ = 0;
    bool has_pwait2_ = true;
};

/// Members of a poller with one owner. `before` is called once in each wait() that finds some of
/// them ready, before the first of them.
class PollGroup {
  public:
    PollGroup(Poller& poller, std::function<void()> before)
        : poller_(poller), before_(std::move(before)) {}
    PollGroup(const PollGroup&) = delete;
    PollGroup& operator=(const PollGroup&) = delete;

    /// As in Poller.
    Poller::Id add(int fd, std::uint32_t events, Pollable& who) {
        return poller_.add(fd, events, who, this);
    }
    void change(Poller::Id id, std::uint32_t events) { poller_.change(id, events); }
    void remove(Poller::Id id) { poller_.remove(id); }

  private:
    friend class Poller;
    Poller& poller_;
    std::function<void()> before_;
    std::uint64_t told_ = 0;  ///< the number of the last wait() that called `before_`
};

}  // namespace dingo
