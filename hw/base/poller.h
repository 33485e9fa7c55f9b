// SPDX-License-Identifier: BSD-2-Clause
//
// The descriptors that one thread waits for, each with an object that is called when it is ready.
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

/// Receiver of a descriptor's readiness.
class Pollable {
  public:
    virtual ~Pollable() = default;
    /// `events`: EPOLL*.
    virtual void ready(std::uint32_t events) = 0;
};

class PollGroup;

/// A set of descriptors, level-triggered. A wait costs what is ready and not how many there are.
/// One poller may be a member of another one.
class Poller {
  public:
    /// Timeout of wait(): no limit.
    static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

    /// Throws std::system_error.
    Poller();

    /// Readable when a member is ready.
    [[nodiscard]] int fd() const { return epoll_.get(); }

    using Id = std::uint64_t;
    /// `events`: EPOLLIN, EPOLLOUT, both, or 0 to hear of errors only. `who` and `group` stay until
    /// remove(). Throws ErrnoError.
    Id add(int fd, std::uint32_t events, Pollable& who, PollGroup* group = nullptr);
    void change(Id id, std::uint32_t events);
    /// Before the descriptor is closed. No event comes for it any more, not even one that is here.
    void remove(Id id);

    /// Members that are told in one wait().
    static constexpr std::size_t kMost = 128;
    /// Waits at most `timeout` nanoseconds until a member is ready, then calls ready() of at most
    /// `most` (and kMost) members, each once. Members that are left over come first the next time.
    void wait(std::uint64_t timeout, std::size_t most = kMost) { tell(collect(timeout, most)); }

    /// The two halves of wait(), for a thread that holds a lock while members are called, and not
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

/// Members of a poller with one owner. The owner is called once in each wait() that finds some of
/// them ready, before the first of them.
class PollGroup {
  public:
    PollGroup(Poller& poller, std::function<void()> before)
        : poller_(poller), before_(std::move(before)) {}
    PollGroup(const PollGroup&) = delete;
    PollGroup& operator=(const PollGroup&) = delete;

    /// As the poller's.
    Poller::Id add(int fd, std::uint32_t events, Pollable& who) {
        return poller_.add(fd, events, who, this);
    }
    void change(Poller::Id id, std::uint32_t events) { poller_.change(id, events); }
    void remove(Poller::Id id) { poller_.remove(id); }

  private:
    friend class Poller;
    Poller& poller_;
    std::function<void()> before_;
    std::uint64_t told_ = 0;  ///< number of the wait in which it was called last
};

}  // namespace dingo
