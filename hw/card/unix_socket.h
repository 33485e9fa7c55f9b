// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "unique_fd.h"

namespace dingo::card {

/// A listening UNIX stream socket at a path, readable and writable by its owner only; removes the
/// path when it goes. A path left by a process that died is taken over.
class UnixListener {
  public:
    /// Throws std::runtime_error that tells the user what is wrong and what to do.
    explicit UnixListener(std::string path);
    ~UnixListener();
    UnixListener(const UnixListener&) = delete;
    UnixListener& operator=(const UnixListener&) = delete;

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// A new connection, non-blocking; none when nobody waits.
    [[nodiscard]] UniqueFd accept() const;

  private:
    std::string path_;
    UniqueFd fd_;
};

/// A connected stream socket; empty with errno set on failure.
UniqueFd connect_unix(const std::string& path);

}  // namespace dingo::card
