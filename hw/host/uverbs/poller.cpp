// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/poller.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "host/errno_error.h"

namespace dingo::uverbs {

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) {
        throw std::system_error(errno, std::generic_category(), "epoll_create1");
    }
}

Poller::Id Poller::add(int fd, std::uint32_t events, Pollable& who) {
    epoll_event e{};
    e.events = events;
    e.data.u64 = next_;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) != 0) {
        throw ErrnoError(errno);
    }
    members_[next_] = {fd, &who};
    return next_++;
}

void Poller::change(Id id, std::uint32_t events) {
    epoll_event e{};
    e.events = events;
    e.data.u64 = id;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, members_.at(id).fd, &e);
}

void Poller::remove(Id id) {
    const auto at = members_.find(id);
    if (at != members_.end()) {
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->second.fd, nullptr);
        members_.erase(at);
    }
}

void Poller::service() {
    std::array<epoll_event, 128> events;
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < n; ++i) {
        // One that came earlier in this batch may have removed it.
        const auto at = members_.find(events[static_cast<std::size_t>(i)].data.u64);
        if (at != members_.end()) {
            at->second.who->ready(events[static_cast<std::size_t>(i)].events);
        }
    }
}

}  // namespace dingo::uverbs
