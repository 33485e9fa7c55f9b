// SPDX-License-Identifier: BSD-2-Clause
//
// Programs that `dingo` starts, watches and ends, with all that they start themselves.
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

/// All descendants of this process, also those whose parent has ended. While it exists, this
/// process adopts such orphans, and SIGINT, SIGTERM and SIGHUP are handled by wait_for().
class Family {
  public:
    Family();   ///< children that are there already (cards) do not belong to it
    ~Family();  ///< ends all
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;

    struct Start {
        std::function<void()> prepare;  ///< in the child, before it becomes the command
        int output = -1;                ///< for stdout and stderr; -1: as they are
        bool background = false;        ///< no terminal: a process group of its own, no stdin
    };
    pid_t start(const std::vector<std::string>& command, const Start& how);

    /// What a shell would say of a child of start(); none: it runs.
    [[nodiscard]] std::optional<int> status(pid_t child) const;
    /// Whether a process of the family listens at a TCP port.
    [[nodiscard]] bool listens() const;
    /// Waits until `done`, at most `at_most`; returns whether it was `done`. Throws Interrupted.
    bool wait_for(const std::function<bool()>& done, std::chrono::milliseconds at_most);
    /// Ends all that are left: SIGTERM, two seconds later SIGKILL.
    void end_all();

  private:
    [[nodiscard]] std::vector<pid_t> members() const;
    void reap();

    std::set<pid_t> strangers_;
    std::map<pid_t, std::optional<int>> started_;
};

/// A signal has asked this process to end.
struct Interrupted {
    int signal;
};

}  // namespace dingo::cli
