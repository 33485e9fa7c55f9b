// SPDX-License-Identifier: BSD-2-Clause
//
// Answers with descriptors, or with many bytes, that a client has not read yet. Descriptors in
// flight count as ours: the kernel limits them per user (ETOOMANYREFS), and the memory behind them
// and of the answer is charged to us. So they are charged to the client until it has read the
// answer.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "base/foreign_fd.h"
#include "base/quota.h"

namespace dingo::uverbs {

/// Bytes sent to a UNIX socket and not yet read by its other end, as accounted by the kernel.
[[nodiscard]] int unread_bytes(int socket);

class UnreadAnswers {
  public:
    /// More than the threads of a program that request descriptors at the same time.
    static constexpr std::size_t kMost = 256;

    explicit UnreadAnswers(std::shared_ptr<Account> account) : account_(std::move(account)) {}

    /// Reserves an answer with this many descriptors; call keep() after sending it. Throws
    /// ErrnoError: ETOOMANYREFS, or EMFILE if the account's share is used up.
    [[nodiscard]] Charge room_for(std::size_t descriptors);
    /// Records that an answer was sent to `socket`.
    void keep(ForeignSocket socket, Charge charge);
    /// Releases answers that were read, the oldest first. Returns true if some are left.
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
