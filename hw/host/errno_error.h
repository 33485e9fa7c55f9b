// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <exception>

namespace dingo {

/// A request fails with this errno, as the kernel's uverbs or driver would let it.
class ErrnoError : public std::exception {
  public:
    explicit ErrnoError(int code) : code_(code) {}
    /// Positive errno value.
    [[nodiscard]] int code() const { return code_; }
    [[nodiscard]] const char* what() const noexcept override { return "a verbs request failed"; }

  private:
    int code_;
};

/// The request cannot be answered yet (a neighbour's address is being asked for): do the whole of
/// it again a little later. Nothing has changed.
class NotYet : public std::exception {};

}  // namespace dingo
