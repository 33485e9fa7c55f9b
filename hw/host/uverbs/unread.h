// SPDX-License-Identifier: BSD-2-Clause
//
// Answers of one client that bring descriptors, or many bytes, and that it has not read.
// Descriptors on the way are ours: the kernel lets a user have only so many of them (ETOOMANYREFS),
// and memory behind them, and of the answer, is charged to us. So they count as the client's until
// it has taken them.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "base/foreign_fd.h"
#include "base/quota.h"

namespace dingo::uverbs {

/// Bytes that were sent to a UNIX socket and wait at its other end, as the kernel counts memory.
[[nodiscard]] int unread_bytes(int socket);

class UnreadAnswers {
  public:
    /// More than a program has threads that ask for descriptors at the same time.
    static constexpr std::size_t kMost = 256;

    explicit UnreadAnswers(std::shared_ptr<Account> account) : account_(std::move(account)) {}

    /// For an answer with so many descriptors, before it is sent; then keep(). ErrnoError:
    /// ETOOMANYREFS, or EMFILE where the account gets no more.
    [[nodiscard]] Charge room_for(std::size_t descriptors);
    /// An answer was sent to `socket`.
    void keep(ForeignSocket socket, Charge charge);
    /// Lets go of those that were read, the oldest first. True: some are left.
    bool sweep();

  private:
    struct Answer {
        ForeignSocket socket;
        Charge charge;
    };
    std::shared_ptr<Account> account_;
    std::deque<Answer> answers_;
};

}  // namespace dingo::uverbs
