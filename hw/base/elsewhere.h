// SPDX-License-Identifier: BSD-2-Clause
//
// Runs calls on detached threads when they may block on another process (as close()) or take long
// because of the size of the memory (munmap()).
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace dingo {

/// Runs `what` on a detached thread with all signals blocked. Throws std::system_error if no thread
/// can be created.
void do_elsewhere(std::function<void()> what);

/// Queues `fd` to be closed on another thread. Descriptors of one client do not wait for those of
/// another.
void close_on_another_thread(int fd);

/// Number of descriptors of this process that were passed to close_on_another_thread() and are not
/// closed yet, and of calls of call_elsewhere() that have not returned: they may hold others.
[[nodiscard]] std::size_t closing_elsewhere();

/// The client that sent a descriptor, or made this process create it.
struct Sender {
    uid_t user = static_cast<uid_t>(-1);
    std::uint64_t client = 0;  ///< tells apart the clients of one user
    auto operator<=>(const Sender&) const = default;
};

/// While an object exists, descriptors that its thread queues for closing are counted for `sender`.
class ClosesFor {
  public:
    explicit ClosesFor(Sender sender);
    ClosesFor(const ClosesFor&) = delete;
    ClosesFor& operator=(const ClosesFor&) = delete;
    ~ClosesFor();

  private:
    Sender before_;
};

/// Returns true if so many of the sender's descriptors wait to be closed that no more may be
/// accepted.
[[nodiscard]] bool has_too_many_closing(const Sender& sender);
/// The same for all clients of a user together: no new client may be admitted.
[[nodiscard]] bool user_has_too_many_closing(uid_t user);

/// Drops `what` after 10 s, on another thread: a reader that still uses it has timed out by then.
void let_go_later(std::shared_ptr<const void> what);

/// Queues `call`, which `client` may block for as long as it likes. A client's calls are made in
/// order, one at a time, and do not wait for those of another client.
void call_elsewhere(const Sender& client, std::function<void()> call);

/// munmap(): in this thread up to 1 MiB, else queued for another thread.
void unmap_elsewhere(void* at, std::size_t size);

}  // namespace dingo
