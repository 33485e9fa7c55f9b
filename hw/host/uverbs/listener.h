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
    /// share: everybody who can reach the path may connect, else only our own user and root.
    /// Throws std::runtime_error that tells the user what is wrong and what to do.
    Listener(std::string path, bool share);

    /// Somebody who may connect.
    struct Newcomer {
        ClientSocket socket;
        pid_t pid = 0;
        uid_t uid = 0;
    };
    struct Counts {
        unsigned admitted = 0;
        unsigned refused = 0;
    };
    /// Takes those who wait, a few of them. `admit` gets who may connect; its ErrnoError turns the
    /// newcomer away. A line in the log tells whom `service` turned away and why; `too_many` is why
    /// admit() did.
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
