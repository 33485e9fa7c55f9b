// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <string>

#include "base/foreign_fd.h"
#include "base/unix_socket.h"

namespace dingo::uverbs {

/// The listening socket of a card's uverbs descriptors; removes its path when it goes. A path left
/// by a card that died is taken over.
class Listener {
  public:
    /// share: everybody who can reach the path may connect, else only our own user and root.
    /// Throws std::runtime_error that tells the user what is wrong and what to do.
    Listener(std::string path, bool share);

    struct Accepted {
        ForeignSocket socket;  ///< empty: no connection waits
        pid_t pid = 0;
        bool allowed = false;
        bool exhausted = false;  ///< no connection can be accepted now: no descriptors or memory
    };
    [[nodiscard]] Accepted accept() const;
    [[nodiscard]] int fd() const { return listener_.fd(); }
    [[nodiscard]] const std::string& path() const { return listener_.path(); }

  private:
    UnixListener listener_;
    bool share_;
};

}  // namespace dingo::uverbs
