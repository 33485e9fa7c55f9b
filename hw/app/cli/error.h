// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace dingo::cli {

/// Exit codes, as listed by --help.
inline constexpr int kSuccess = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNoSuchCard = 3;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

/// An error and its remedy, for the user; the program exits with `status`.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& text, int status = kFailed)
        : std::runtime_error(text), status_(status) {}
    [[nodiscard]] int status() const { return status_; }

  private:
    int status_;
};

}  // namespace dingo::cli
