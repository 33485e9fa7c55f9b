// SPDX-License-Identifier: BSD-2-Clause
#include "net/readiness.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "qpx/error.h"

namespace qpx::net {

namespace {

[[noreturn]] void failed(const char* call) {
    throw Error(ErrorCode::Limit, std::string(call) + ": " + std::system_category().message(errno));
}

}  // namespace

Readiness::Readiness()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (epoll_.get() < 0 || event_.get() < 0 || timer_.get() < 0) {
        failed("epoll_create1, eventfd, timerfd_create");
    }
    watch(event_.get(), true, false);
    watch(timer_.get(), true, false);
}

void Readiness::watch(int fd, bool readable, bool writable) {
    epoll_event event{};
    event.events = (readable ? uint32_t{EPOLLIN} : 0) | (writable ? uint32_t{EPOLLOUT} : 0);
    event.data.fd = fd;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 &&
        (errno != EEXIST || epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)) {
        failed("epoll_ctl");
    }
}

void Readiness::forget(int fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Readiness::set(bool ready) {
    if (ready == set_) {
        return;
    }
    set_ = ready;
    eventfd_t count = 0;
    ready ? eventfd_write(event_.get(), 1) : eventfd_read(event_.get(), &count);
}

void Readiness::wake_at(std::optional<Clock::time_point> at) {
    if (at == at_) {
        return;
    }
    at_ = at;
    itimerspec when{};
    if (at) {
        // steady_clock uses CLOCK_MONOTONIC; 0 would disarm the timer.
        const auto ns =
            std::max<std::int64_t>(1, std::chrono::nanoseconds(at->time_since_epoch()).count());
        when.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace qpx::net
