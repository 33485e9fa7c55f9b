// SPDX-License-Identifier: BSD-2-Clause
//
// Programs started by `dingo`, with all their descendants: watches and ends them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace dingo::cli {

inline constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

/// All descendants of this process, including those whose parent has exited. While the object
/// exists, this process adopts such orphans, and wait_for() handles SIGINT, SIGTERM and SIGHUP.
class Family {
  public:
    Family();   ///< existing children (cards) do not belong to the family
    ~Family();  ///< ends all members
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;

    struct Start {
        std::function<void()> prepare;  ///< called in the child before it executes the command
        int output = -1;                ///< descriptor for stdout and stderr; -1: inherited
        bool background = false;        ///< without terminal: own process group, no stdin
    };
    pid_t start(const std::vector<std::string>& command, const Start& how);

    /// Returns the exit status in a shell's encoding of a child of start(); nullopt while it runs.
    [[nodiscard]] std::optional<int> status(pid_t child) const;
    /// Returns true if a process of the family listens on a TCP port.
    [[nodiscard]] bool listens() const;
    /// Waits until `done` returns true, at most `at_most`. Returns true unless it timed out. Throws
    /// Interrupted.
    bool wait_for(const std::function<bool()>& done, std::chrono::milliseconds at_most);
    /// Ends all members: SIGTERM, SIGKILL two seconds later.
    void end_all();

  private:
    [[nodiscard]] std::vector<pid_t> members() const;
    void reap();

    std::set<pid_t> strangers_;
    std::map<pid_t, std::optional<int>> started_;
};

/// Thrown when a signal asks this process to end.
struct Interrupted {
    int signal;
};

}  // namespace dingo::cli
