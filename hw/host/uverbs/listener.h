// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/foreign_fd.h"
#include "base/log.h"
#include "base/unix_socket.h"

namespace dingo::uverbs {

/// The listening socket for a card's uverbs or rdma_cm descriptors. The destructor removes its
/// path. A path left by a card that died is reused.
class Listener {
  public:
    /// With `share`, every process that can reach the path may connect, else only our own user and
    /// root. Throws std::runtime_error whose text states the problem and its remedy.
    Listener(std::string path, bool share);

    /// A client that is allowed to connect.
    struct Newcomer {
        ClientSocket socket;
        pid_t pid = 0;
        uid_t uid = 0;
    };
    struct Counts {
        unsigned admitted = 0;
        unsigned refused = 0;
    };
    /// Accepts a few of the pending connections. `admit` is called for those that are allowed; if
    /// it throws ErrnoError the connection is refused. Each refusal is logged with its reason;
    /// `service` names the service, `too_many` is the reason if admit() has refused.
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
