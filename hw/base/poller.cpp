// SPDX-License-Identifier: BSD-2-Clause
#include "base/poller.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "base/errno_error.h"

namespace dingo {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) {
        throw std::system_error(errno, std::generic_category(), "epoll_create1");
    }
}

Poller::Id Poller::add(int fd, std::uint32_t events, Pollable& who, PollGroup* group) {
    epoll_event e{};
    e.events = events;
    e.data.u64 = next_;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) != 0) {
        throw ErrnoError(errno);
    }
    members_[next_] = {fd, &who, group};
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

Poller::Found Poller::collect(std::uint64_t timeout, std::size_t most) {
    Found found;
    found.count = wait_for(found.events.data(), static_cast<int>(std::min(most, kMost)), timeout);
    return found;
}

void Poller::tell(const Found& found) {
    ++waits_;
    for (int i = 0; i < found.count; ++i) {
        const epoll_event& event = found.events[static_cast<std::size_t>(i)];
        // A member called earlier in this batch may have removed it.
        auto at = members_.find(event.data.u64);
        if (at == members_.end()) {
            continue;
        }
        PollGroup* const group = at->second.group;
        if (group != nullptr && group->told_ != waits_) {
            group->told_ = waits_;
            group->before_();
            at = members_.find(event.data.u64);
            if (at == members_.end()) {
                continue;
            }
        }
        at->second.who->ready(event.events);
    }
}

// One system call, as a busy card calls this every few microseconds.
int Poller::wait_for(epoll_event* events, int most, std::uint64_t timeout) {
    if (timeout == 0 || timeout == kForever) {
        return ::epoll_wait(epoll_.get(), events, most, timeout == 0 ? 0 : -1);
    }
    const timespec time{static_cast<time_t>(timeout / kSecond),
                        static_cast<long>(timeout % kSecond)};
    if (has_pwait2_) {
        const int n = ::epoll_pwait2(epoll_.get(), events, most, &time, nullptr);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) {
            return n;
        }
        has_pwait2_ = false;  // Linux before 5.11, or a sandbox that refuses the call
    }
    pollfd self{epoll_.get(), POLLIN, 0};
    const int n = ::ppoll(&self, 1, &time, nullptr);
    return n <= 0 ? n : ::epoll_wait(epoll_.get(), events, most, 0);
}

}  // namespace dingo
