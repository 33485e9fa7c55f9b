// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <string>

#include "unique_fd.h"

namespace dingo {

/// A listening UNIX socket at a path, which is removed by the destructor. Replaces a stale path
/// left by a process that died.
class UnixListener {
  public:
    struct Options {
        int type = SOCK_STREAM;
        mode_t mask = 0177;  ///< umask for the path: accessible to its owner only
        int backlog = 4;
        bool credentials = false;  ///< accepted sockets have SO_PASSCRED
    };
    /// Throws std::runtime_error with advice for the user.
    explicit UnixListener(std::string path);
    UnixListener(std::string path, const Options& options);
    ~UnixListener();
    UnixListener(const UnixListener&) = delete;
    UnixListener& operator=(const UnixListener&) = delete;

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Accepts a connection, non-blocking. Empty with errno set if none is queued (EAGAIN), or if
    /// one was closed at once because no descriptors are left (EMFILE, ENFILE).
    [[nodiscard]] UniqueFd accept();

  private:
    std::string path_;
    UniqueFd fd_;
    UniqueFd spare_;  ///< released to accept and close a connection when no descriptors are left
};

/// Connects a stream socket. Empty with errno set on failure.
UniqueFd connect_unix(const std::string& path);

}  // namespace dingo
