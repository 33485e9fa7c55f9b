// SPDX-License-Identifier: BSD-2-Clause
//
// Messages posted to a QP before it goes to ERR. Programs post their last message and disconnect at
// once: a real card has sent the message by then, while this card may still be fetching its payload
// from far memory.
#pragma once

#include <cstdint>
#include <exception>
#include <list>

#include "host/driver/waiter.h"
#include "host/local_card.h"

namespace dingo::uverbs {

/// Thrown if posted messages are about to leave. Nothing has changed; the change to ERR is repeated
/// when LastSends calls the waiter.
class NotSent : public std::exception {
  public:
    explicit NotSent(std::uint32_t qpn) : qpn_(qpn) {}
    [[nodiscard]] std::uint32_t qpn() const { return qpn_; }

  private:
    std::uint32_t qpn_;
};

class LastSends {
  public:
    /// Maximum time for a QP.
    static constexpr Nanoseconds kPatience = 100'000'000;
    /// Period at which a QP is checked; longer if more than kLooks wait.
    static constexpr Nanoseconds kLook = 1'000'000;
    static constexpr std::size_t kLooks = 16;
    /// Maximum number of waiting requests, as each check costs the card a turn.
    static constexpr std::size_t kMost = 256;

    explicit LastSends(LocalCard& card) : card_(card) {}

    /// Makes the QP send. Throws NotSent if more would leave soon and another waiter fits.
    void send(std::uint32_t qpn);
    /// Calls `waiter` once, in a poll(), when all that can leave has left, or on a timeout.
    void await(const NotSent& what, Waiter& waiter);

    /// Returns true if a waiter was called.
    bool poll(Nanoseconds now);
    [[nodiscard]] Nanoseconds next_deadline() const { return qps_.empty() ? kNever : look_; }

  private:
    struct Wait {
        std::uint32_t qpn = 0;
        Nanoseconds until = 0;
        Waiters who;  ///< one waiter; none after it has stopped waiting
        int result = 0;
    };

    LocalCard& card_;
    std::list<Wait> qps_;  ///< in the order of the next check
    Nanoseconds look_ = kNever;
};

}  // namespace dingo::uverbs
