// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <utility>

namespace dingo {

/// Owns a file descriptor; -1: none. `Close` closes it.
template <void (*Close)(int)>
class BasicFd {
  public:
    BasicFd() = default;
    explicit BasicFd(int fd) : fd_(fd) {}
    BasicFd(BasicFd&& other) noexcept : fd_(other.release()) {}
    BasicFd& operator=(BasicFd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    BasicFd(const BasicFd&) = delete;
    BasicFd& operator=(const BasicFd&) = delete;
    ~BasicFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    /// Passes ownership to the caller.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

    void reset(int fd = -1) {
        if (fd_ >= 0) {
            Close(fd_);
        }
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

inline void close_here(int fd) {
    ::close(fd);
}

using UniqueFd = BasicFd<close_here>;

}  // namespace dingo
