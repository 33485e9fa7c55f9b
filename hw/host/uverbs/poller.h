// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/unique_fd.h"

namespace dingo::uverbs {

/// Who is told that a descriptor is ready.
class Pollable {
  public:
    virtual ~Pollable() = default;
    /// events: EPOLL*.
    virtual void ready(std::uint32_t events) = 0;
};

/// All descriptors of a card's clients behind one that the card's loop polls, so that a round costs
/// what happened in it and not how many clients there are. Level-triggered.
class Poller {
  public:
    /// Throws std::system_error.
    Poller();

    /// Readable when a member is ready.
    [[nodiscard]] int fd() const { return epoll_.get(); }

    using Id = std::uint64_t;
    /// Throws ErrnoError. `who` stays until remove().
    Id add(int fd, std::uint32_t events, Pollable& who);
    void change(Id id, std::uint32_t events);
    /// Before the descriptor is closed. No event comes for it any more, not even one that is here.
    void remove(Id id);

    /// Tells whoever is ready, each at most once.
    void service();

  private:
    struct Member {
        int fd;
        Pollable* who;
    };
    UniqueFd epoll_;
    std::unordered_map<Id, Member> members_;
    Id next_ = 1;
};

}  // namespace dingo::uverbs
