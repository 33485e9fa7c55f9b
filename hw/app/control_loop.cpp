// SPDX-License-Identifier: BSD-2-Clause
#include "control_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/monotonic_clock.h"
#include "served_card.h"

namespace dingo {

ControlLoop::Waker::Waker() : fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
}

void ControlLoop::Waker::ready(std::uint32_t /*events*/) {
    ::eventfd_t count = 0;
    ::eventfd_read(fd.get(), &count);
    // Messages sent from now on are served in the next pass, earlier ones in this pass.
    told.exchange(false);
}

ControlLoop::ControlLoop(int stop_fd) {
    poller_.add(stop_fd, EPOLLIN, stopper_);
    poller_.add(waker_.fd.get(), EPOLLIN, waker_);
}

void ControlLoop::add(ServedCard& card) {
    card.watch_host(poller_, *this);
    cards_.push_back(&card);
}

void ControlLoop::remove(ServedCard& card) {
    card.stop();
    card.unwatch_host();
    std::erase(cards_, &card);
}

void ControlLoop::end() {
    stop_ = true;
    wake();
}

void ControlLoop::wake() {
    if (!waker_.told.exchange(true)) {
        ::eventfd_write(waker_.fd.get(), 1);
    }
}

void ControlLoop::run_tasks() {
    for (const auto& task : std::exchange(tasks_, {})) {
        task();
    }
}

std::uint64_t ControlLoop::settle() {
    const Nanoseconds now = clock_now();
    bool more = !tasks_.empty();
    Nanoseconds due = kNever;
    for (ServedCard* const card : cards_) {
        more |= card->settle(now);
    }
    for (const ServedCard* const card : cards_) {
        due = std::min(due, card->host_deadline());
    }
    return more ? 0 : due == kNever ? Poller::kForever : due - std::min(due, now);
}

void ControlLoop::run() {
    std::unique_lock turn(turn_);
    while (!stop_) {
        run_tasks();
        const std::uint64_t timeout = settle();
        if (stop_) {
            break;
        }
        turn.unlock();
        const Poller::Found found = poller_.collect(timeout);
        turn.lock();
        poller_.tell(found);
    }
    for (ServedCard* const card : cards_) {
        card->stop();
    }
}

}  // namespace dingo
