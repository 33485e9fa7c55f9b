// SPDX-License-Identifier: BSD-2-Clause
// The cards of the run directory: their data, and requests to running ones.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/places.h"
#include "base/unique_fd.h"

namespace dingo::cli {

using Json = nlohmann::json;

struct CardEntry {
    std::string name;
    Path dir;
    Json info;        ///< card.json; an empty object if it cannot be read
    pid_t pid = 0;    ///< process that listens at the control socket; 0: not running
    uid_t owner = 0;  ///< owner of a card shared by another user
    [[nodiscard]] bool running() const { return pid != 0; }
    /// N of uverbsN; -1 if unknown.
    [[nodiscard]] int number() const;
};

/// Throws Error(kUsage) if the name is invalid.
void check_name(const std::string& name);

/// Returns the state of card `name`, whether it exists or not.
CardEntry look_at(const std::string& name);

/// Returns all cards that have a directory, sorted by name.
std::vector<CardEntry> all_cards();

/// Returns the card. Throws Error(kNoSuchCard) if it is not running.
CardEntry running_card(const std::string& name);

/// Returns the running card in directory `dir`, shared by another user. Throws Error(kNoSuchCard);
/// Error(kCannotExecute) if its owner is not root, the caller or trusted: the process that serves a
/// card accesses the memory of its clients.
CardEntry shared_card(const std::string& dir, bool trust_owner);

/// Sends one request to the control socket of a card and returns the answer. Throws Error.
Json ask(const CardEntry& card, const Json& request);

/// Locks the run directory while cards are started or stopped and views are made.
UniqueFd lock_run_dir();

}  // namespace dingo::cli
