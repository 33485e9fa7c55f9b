// SPDX-License-Identifier: BSD-2-Clause
//
// Messages that were posted to a QP before it goes to ERR. Programs post their last message and
// disconnect at once: a real card has sent it by then, while this one may be fetching its payload
// from far memory.
#pragma once

#include <cstdint>
#include <exception>
#include <list>

#include "host/driver/waiter.h"
#include "host/local_card.h"

namespace dingo::uverbs {

/// What was posted to the QP is about to leave: repeat the change to ERR when LastSends calls the
/// waiter. Nothing has changed.
class NotSent : public std::exception {
  public:
    explicit NotSent(std::uint32_t qpn) : qpn_(qpn) {}
    [[nodiscard]] std::uint32_t qpn() const { return qpn_; }

  private:
    std::uint32_t qpn_;
};

class LastSends {
  public:
    /// How long a QP may take.
    static constexpr Nanoseconds kPatience = 100'000'000;
    /// Time between two looks at a QP, longer where more than kLooks wait.
    static constexpr Nanoseconds kLook = 1'000'000;
    static constexpr std::size_t kLooks = 16;
    /// Requests that wait at once: no more, as each look costs the card a turn.
    static constexpr std::size_t kMost = 256;

    explicit LastSends(LocalCard& card) : card_(card) {}

    /// Makes the QP send. Throws NotSent when more would leave soon and there is room for another
    /// waiter.
    void send(std::uint32_t qpn);
    /// `waiter` is told once, in a poll(), that all that can leave has left, or that it takes too
    /// long.
    void await(const NotSent& what, Waiter& waiter);

    /// True: a waiter was called.
    bool poll(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const { return qps_.empty() ? kNever : look_; }

  private:
    struct Wait {
        std::uint32_t qpn = 0;
        Nanoseconds until = 0;
        Waiters who;  ///< one; none when it does not wait any more
        int result = 0;
    };

    LocalCard& card_;
    std::list<Wait> qps_;  ///< the next to be looked at first
    Nanoseconds look_ = kNever;
};

}  // namespace dingo::uverbs
