// SPDX-License-Identifier: BSD-2-Clause
//
// The cards of the run directory: their data, and how to talk to a running one.
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
    Json info;        ///< card.json; an empty object when it cannot be read
    pid_t pid = 0;    ///< of the process that listens at its control socket; 0: none runs
    uid_t owner = 0;  ///< of a card that another user shares: that user
    [[nodiscard]] bool running() const { return pid != 0; }
    /// N of uverbsN; -1 when unknown.
    [[nodiscard]] int number() const;
};

/// Throws Error(kUsage) when nothing can be called so.
void check_name(const std::string& name);

/// Looks at the card `name`, whether it exists or not.
CardEntry look_at(const std::string& name);

/// All cards that have a directory, sorted by name.
std::vector<CardEntry> all_cards();

/// The card, which runs. Throws Error(kNoSuchCard).
CardEntry running_card(const std::string& name);

/// The running card in directory `dir`, which another user shares. Throws Error(kNoSuchCard), and
/// Error(kCannotExecute) when its user is neither root nor the caller and is not trusted: the
/// process that serves a card reads and writes the memory of its clients.
CardEntry shared_card(const std::string& dir, bool trust_owner);

/// Sends one request to the control socket of a card and returns the answer. Throws Error.
Json ask(const CardEntry& card, const Json& request);

/// Held while cards are started or stopped, and views are made.
UniqueFd lock_run_dir();

}  // namespace dingo::cli
