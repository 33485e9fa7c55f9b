// SPDX-License-Identifier: BSD-2-Clause
//
// Calls that take as long as another process likes, or as the size of its memory makes them, on
// threads that nobody waits for.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace dingo {

/// Calls `what` on a thread of its own, which gets no signals. std::system_error: there is none.
void do_elsewhere(std::function<void()> what);

/// Closes `fd` soon, on another thread. Descriptors of one client do not wait for those of another.
void close_on_another_thread(int fd);

/// Descriptors that were given to it and are not closed yet, of the whole process.
[[nodiscard]] std::size_t closing_elsewhere();

/// The client that sent a descriptor, or made this process create it.
struct Sender {
    uid_t user = static_cast<uid_t>(-1);
    std::uint64_t client = 0;  ///< tells clients of a user apart
    auto operator<=>(const Sender&) const = default;
};

/// While it lives, what this thread closes is the sender's.
class ClosesFor {
  public:
    explicit ClosesFor(Sender sender);
    ClosesFor(const ClosesFor&) = delete;
    ClosesFor& operator=(const ClosesFor&) = delete;
    ~ClosesFor();

  private:
    Sender before_;
};

/// So many of the sender's descriptors wait to be closed that no more are to be taken.
[[nodiscard]] bool has_too_many_closing(const Sender& sender);
/// The same for all clients of a user: no more are to be admitted.
[[nodiscard]] bool user_has_too_many_closing(uid_t user);

/// Releases `what` in some seconds, on another thread: a reader that is still busy with it has
/// given up by then.
void let_go_later(std::shared_ptr<const void> what);

/// munmap(): here when it is short, else soon, on another thread.
void unmap_elsewhere(void* at, std::size_t size);

}  // namespace dingo
