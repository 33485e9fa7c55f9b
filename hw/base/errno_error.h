// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstring>
#include <exception>

namespace dingo {

/// Thrown when a request fails: carries the errno that the kernel returns in the same case.
class ErrnoError : public std::exception {
  public:
    explicit ErrnoError(int code) : code_(code) {}
    /// Positive errno value.
    [[nodiscard]] int code() const { return code_; }
    [[nodiscard]] const char* what() const noexcept override { return std::strerror(code_); }

  private:
    int code_;
};

}  // namespace dingo
