// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/last_sends.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dingo::uverbs {

void LastSends::send(std::uint32_t qpn) {
    if (qps_.size() >= kMost) {
        return;
    }
    card_.take_doorbells();
    if (card_.send_posted(qpn)) {
        throw NotSent(qpn);
    }
}

void LastSends::await(const NotSent& what, Waiter& waiter) {
    const Nanoseconds now = card_.now();
    if (qps_.empty()) {
        look_ = now + kLook;
    }
    Wait& wait = qps_.emplace_back();
    wait.qpn = what.qpn();
    wait.until = now + kPatience;
    wait.who.add(waiter);
}

bool LastSends::poll(Nanoseconds now) {
    if (now < next_deadline()) {
        return false;
    }
    look_ = now + kLook;
    std::list<Wait> over;
    card_.gate()->run([&] {
        for (std::size_t n = std::min(qps_.size(), kLooks); n != 0; --n) {
            Wait& next = qps_.front();
            const bool sends = !next.who.empty() && card_.send_posted(next.qpn);
            next.result = sends ? ETIMEDOUT : 0;
            std::list<Wait>& to = sends && now < next.until ? qps_ : over;
            to.splice(to.end(), qps_, qps_.begin());
        }
    });
    for (Wait& wait : over) {
        if (Waiter* const waiter = wait.who.first()) {
            waiter->stop_waiting();
            waiter->settled(wait.result);
        }
    }
    return !over.empty();
}

}  // namespace dingo::uverbs
