// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "app/cli/daemon.h"

namespace dingo::cli {

/// Cards for the duration of a command: the destructor stops those that it has started, unless
/// another program uses them by then.
class StartedCards {
  public:
    StartedCards() = default;
    ~StartedCards();
    StartedCards(const StartedCards&) = delete;
    StartedCards& operator=(const StartedCards&) = delete;

    /// Returns the card; starts it if it is not running. A `name` with '/' is that of a card shared
    /// by another user. The caller holds the lock. Throws Error.
    CardEntry bring(const std::string& name, StartOptions options);

  private:
    std::vector<CardEntry> started_;
};

}  // namespace dingo::cli
