// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/foreign_fd.h"
#include "base/log.h"
#include "base/unix_socket.h"

namespace dingo::uverbs {

/// The listening socket of a card's uverbs or rdma_cm descriptors; removes its path when it goes. A
/// path left by a card that died is taken over.
class Listener {
  public:
    /// share: every process that can reach the path may connect, else only our own user and root.
    /// Throws std::runtime_error whose text says what is wrong and what to do.
    Listener(std::string path, bool share);

    /// A client that may connect.
    struct Newcomer {
        ClientSocket socket;
        pid_t pid = 0;
        uid_t uid = 0;
    };
    struct Counts {
        unsigned admitted = 0;
        unsigned refused = 0;
    };
    /// Accepts a few of the waiting connections. `admit` gets those that may connect; its
    /// ErrnoError turns the newcomer away. The log gets a line with each one that `service` turned
    /// away and why; `too_many` is the text when admit() did.
    Counts accept(const char* service, const char* too_many,
                  const std::function<void(Newcomer)>& admit);
    [[nodiscard]] int fd() const { return listener_.fd(); }
    [[nodiscard]] const std::string& path() const { return listener_.path(); }

  private:
    [[nodiscard]] bool may_connect(uid_t user) const;

    UnixListener listener_;
    bool share_;
    log::Limit log_limit_;
};

}  // namespace dingo::uverbs
