// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <string>

#include "unique_fd.h"

namespace dingo {

/// A listening UNIX socket at a path; removes the path when it goes. A path left by a process that
/// died is taken over.
class UnixListener {
  public:
    struct Options {
        int type = SOCK_STREAM;
        mode_t mask = 0177;  ///< umask of the path: its owner only
        int backlog = 4;
        bool credentials = false;  ///< accepted sockets have SO_PASSCRED
    };
    /// Throws std::runtime_error that tells the user what is wrong and what to do.
    explicit UnixListener(std::string path);
    UnixListener(std::string path, const Options& options);
    ~UnixListener();
    UnixListener(const UnixListener&) = delete;
    UnixListener& operator=(const UnixListener&) = delete;

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// A new connection, non-blocking; empty, with errno set, when none is waiting (EAGAIN), or one
    /// was turned away as this process has no descriptors left (EMFILE, ENFILE).
    [[nodiscard]] UniqueFd accept();

  private:
    std::string path_;
    UniqueFd fd_;
    UniqueFd spare_;  ///< closed to turn a connection away, which would be readable for ever
};

/// A connected stream socket; empty with errno set on failure.
UniqueFd connect_unix(const std::string& path);

}  // namespace dingo
