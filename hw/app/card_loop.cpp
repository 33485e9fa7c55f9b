// SPDX-License-Identifier: BSD-2-Clause
#include "card_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/monotonic_clock.h"
#include "cpu_pressure.h"
#include "dingo/touch.h"

namespace dingo {
namespace {

/// Period at which descriptors that epoll cannot watch are polled.
constexpr Nanoseconds kUnwatchedEvery = 10'000;

/// Cost of two thread switches on free processors. On busy ones a switch takes longer, but if the
/// scheduler's time counted as the visitor's, visitors would be kept out far longer than their
/// visits take.
constexpr Nanoseconds kHandover = 20'000;

static_assert(kNever == Poller::kForever);

}  // namespace

CardLoop::CardLoop(const IdlePolicy::Limits& idle, int stop_fd) : idle_(idle) {
    poller_.add(stop_fd, EPOLLIN, *this);
}

CardLoop::CardLoop(const IdlePolicy::Limits& idle, std::shared_ptr<Gate> gate)
    : gate_(std::move(gate)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), idle_(idle) {
    if (!wake_) {
        throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    poller_.add(wake_.get(), EPOLLIN, *this);
    gate_->on_enter = [this] {
        if (faults_) {
            faults_->visitor_entered();
        }
    };
    gate_->on_leave = [this] { visited(); };
}

CardLoop::~CardLoop() {
    if (gate_ != nullptr) {
        gate_->on_enter = nullptr;
        gate_->on_leave = nullptr;
    }
    for (ServedCard* const card : cards_) {
        card->unwatch();
    }
}

void CardLoop::ready(std::uint32_t /*events*/) {
    if (gate_ == nullptr) {
        stop_ = true;
        return;
    }
    ::eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
}

void CardLoop::end() {
    stop_ = true;
    if (wake_) {
        ::eventfd_write(wake_.get(), 1);
    }
}

void CardLoop::visited() noexcept {
    if (!failure_) {
        try {
            serve_visited();
        } catch (...) {
            failure_ = std::current_exception();
            end();
        }
    }
    if (faults_) {
        faults_->visitor_leaves();
    }
}

void CardLoop::serve_visited() {
    for (ServedCard* const card : cards_) {
        card->visited();
    }
    bool awake = false;
    for (ServedCard* const card : cards_) {
        awake |= card->wakes();
    }
    if (awake && std::exchange(waits_, false)) {
        ::eventfd_write(wake_.get(), 1);
    }
}

void CardLoop::add(ServedCard& card) {
    const Gate::Hold hold(gate_.get());
    card.watch(poller_);
    card.set_loop_stats(&stats_);
    card.set_crowded(stats_.crowded);
    cards_.push_back(&card);
}

void CardLoop::remove(ServedCard& card) {
    if (gate_ == nullptr) {
        card.stop();
    }
    const Gate::Hold hold(gate_.get());
    card.unwatch();
    card.set_loop_stats(nullptr);
    std::erase(cards_, &card);
}

void CardLoop::run() {
    if (gate_ == nullptr) {
        serve();
        for (ServedCard* const card : cards_) {
            card->stop();
        }
        return;
    }
    struct Closed {
        explicit Closed(Gate& g) : gate(g) { gate.close(); }
        ~Closed() { gate.open(); }
        Gate& gate;
    } const closed(*gate_);
    faults_.emplace([this] {
        if (on_offence) {
            on_offence();
        }
    });
    serve();
    faults_.reset();
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void CardLoop::give_way(bool busy) {
    const Nanoseconds now = clock_now();
    if (!busy || visits_.due(now)) {
        const Gate::Visit visit = gate_->give_way();
        const Nanoseconds end = clock_now();
        const auto inside = static_cast<Nanoseconds>(visit.inside.count());
        const Nanoseconds took = std::min(end - now, visit.stayed ? inside + kHandover : inside);
        visits_.looked(end - took, took, busy);
    }
}

void CardLoop::serve() {
    CpuPressure pressure;
    Nanoseconds idle_since = 0;
    bool idle = false;
    while (!stop_) {
        if (gate_ != nullptr && should_leave()) {
            await_judge();
        }
        if (gate_ != nullptr && gate_->wanted()) {
            give_way(!idle);
        }
        const Nanoseconds now = clock_now();
        const bool more = round(now);
        if (stop_) {
            break;
        }
        if (pressure.sample(now)) {
            stats_.crowded = pressure.crowded();
            for (ServedCard* const card : cards_) {
                card->set_crowded(stats_.crowded);
            }
        }
        if (more) {
            idle = false;
            look(now, true);
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
                look(now, false);
                continue;
            case IdlePolicy::Act::kNap:
                ++stats_.naps;
                wait(std::min(until_due, IdlePolicy::nap_length(now - idle_since)), true);
                continue;
            case IdlePolicy::Act::kSleep:
                break;
        }
        idle = false;
        if (!prepare_sleep(now)) {
            look(now, false);  // hosts are served whatever keeps a card awake
            continue;
        }
        ++stats_.sleeps;
        wait(until_due, true);
        for (ServedCard* const card : cards_) {
            card->woke();
        }
        idle_.slept(clock_now() - now);
    }
}

/// Told of an offence, the control thread comes before the next touch of that memory. While a hold
/// goes on after that, it only gets a chance to.
void CardLoop::await_judge() {
    constexpr std::chrono::microseconds kNap{50};
    constexpr int kMostNaps = 100;
    const bool is_told = last_touch.offence.exchange(false, std::memory_order_relaxed);
    for (int i = 0; is_told && i < kMostNaps && !gate_->wanted() && !stop_; ++i) {
        std::this_thread::sleep_for(kNap);
    }
    last_touch.leave.store(false, std::memory_order_relaxed);
    gate_->give_way();
}

bool CardLoop::round(Nanoseconds now) {
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

void CardLoop::look(Nanoseconds now, bool busy) {
    if (look_.due(now)) {
        const Nanoseconds begin = clock_now();  // the round since `now` was the card's time
        wait(0, false);
        look_.looked(begin, clock_now() - begin, busy);
    }
}

void CardLoop::wait(Nanoseconds timeout, bool asleep) {
    for (ServedCard* const card : cards_) {
        if (!card->before_wait(asleep)) {
            timeout = std::min(timeout, kUnwatchedEvery);
        }
    }
    if (gate_ == nullptr || timeout == 0) {
        poller_.wait(timeout);
    } else {
        waits_ = true;
        gate_->open();
        faults_->sleeps();
        const Poller::Found found = poller_.collect(timeout);
        faults_->woke();
        gate_->close();
        waits_ = false;
        poller_.tell(found);
    }
    for (ServedCard* const card : cards_) {
        card->after_wait();
    }
}

}  // namespace dingo
