// SPDX-License-Identifier: BSD-2-Clause
#include "card_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "monotonic_clock.h"

namespace dingo {
namespace {

/// A busy card looks at its sockets this often.
constexpr Nanoseconds kBusyPollEvery = 10'000;

static_assert(kNever == Poller::kForever);

}  // namespace

CardLoop::CardLoop(const IdlePolicy::Limits& idle, int stop_fd) : idle_(idle) {
    poller_.add(stop_fd, EPOLLIN, *this);
}

CardLoop::~CardLoop() {
    for (ServedCard* const card : cards_) {
        card->unwatch();
    }
}

void CardLoop::add(ServedCard& card) {
    card.watch(poller_);
    card.set_loop_stats(&stats_);
    card.set_crowded(stats_.crowded);
    cards_.push_back(&card);
}

void CardLoop::remove(ServedCard& card) {
    card.stop();
    card.unwatch();
    card.set_loop_stats(nullptr);
    std::erase(cards_, &card);
}

void CardLoop::run() {
    Nanoseconds idle_since = 0;
    bool idle = false;
    while (!stop_) {
        const Nanoseconds now = clock_now();
        const bool more = round(now);
        if (stop_) {
            break;
        }
        if (pressure_.sample(now)) {
            stats_.crowded = pressure_.crowded();
            for (ServedCard* const card : cards_) {
                card->set_crowded(stats_.crowded);
            }
        }
        if (more) {
            idle = false;
            look(now);
            continue;
        }
        if (!idle) {
            idle = true;
            idle_since = now;
        }
        const Nanoseconds due = next_deadline();
        const Nanoseconds until_due = due == kNever ? kNever : due - std::min(due, now);
        switch (idle_.act(now - idle_since)) {
            case IdlePolicy::Act::kSpin:
                look(now);
                continue;
            case IdlePolicy::Act::kNap:
                ++stats_.naps;
                last_wait_ = now;
                wait(std::min(until_due, IdlePolicy::nap_length(now - idle_since)), true);
                continue;
            case IdlePolicy::Act::kSleep:
                break;
        }
        idle = false;
        if (!prepare_sleep(now)) {
            look(now);  // whatever keeps a card awake, the hosts are served
            continue;
        }
        ++stats_.sleeps;
        last_wait_ = now;
        wait(until_due, true);
        for (ServedCard* const card : cards_) {
            card->woke();
        }
        idle_.slept(clock_now() - now);
    }
    for (ServedCard* const card : cards_) {
        card->stop();
    }
}

bool CardLoop::round(Nanoseconds now) {
    if (!tasks_.empty()) {
        for (const auto& task : std::exchange(tasks_, {})) {
            task();
        }
    }
    if (cards_.size() == 1) {
        cards_[0]->woke();
        return cards_[0]->round(now);
    }
    bool more = false;
    for (ServedCard* const card : cards_) {
        if (!card->sleeps_on(now)) {
            more |= card->round(now);
        }
    }
    return more;
}

Nanoseconds CardLoop::next_deadline() const {
    Nanoseconds due = kNever;
    for (const ServedCard* const card : cards_) {
        due = std::min(due, card->next_deadline());
    }
    return due;
}

bool CardLoop::prepare_sleep(Nanoseconds now) {
    for (auto card = cards_.begin(); card != cards_.end(); ++card) {
        if (!(*card)->prepare_sleep(now)) {
            std::for_each(cards_.begin(), card + 1, [](ServedCard* armed) { armed->woke(); });
            return false;
        }
    }
    return true;
}

void CardLoop::look(Nanoseconds now) {
    if (now - last_wait_ >= kBusyPollEvery) {
        last_wait_ = now;
        wait(0, false);
    }
}

void CardLoop::wait(Nanoseconds timeout, bool asleep) {
    const std::size_t count = cards_.size();  // one of them may add another
    for (std::size_t i = 0; i < count; ++i) {
        if (!cards_[i]->before_wait(asleep)) {
            timeout = std::min(timeout, kBusyPollEvery);
        }
    }
    poller_.wait(tasks_.empty() ? timeout : 0);
    for (std::size_t i = 0; i < count; ++i) {
        cards_[i]->after_wait();
    }
}

}  // namespace dingo
