// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "app/cli/daemon.h"

namespace dingo::cli {

/// Cards for the time of a command: those that it starts are stopped when it goes, unless another
/// program uses them by then.
class StartedCards {
  public:
    StartedCards() = default;
    ~StartedCards();
    StartedCards(const StartedCards&) = delete;
    StartedCards& operator=(const StartedCards&) = delete;

    /// The card, started where it does not run. `name` with a '/': one that another user shares.
    /// The lock is held by the caller. Throws Error.
    CardEntry bring(const std::string& name, StartOptions options);

  private:
    std::vector<CardEntry> started_;
};

}  // namespace dingo::cli
