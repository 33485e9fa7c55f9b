// SPDX-License-Identifier: BSD-2-Clause
//
// What can be seen of a program before it is started: whether it will see a card.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/places.h"

namespace dingo::cli {

struct Obstacle {
    bool certain;      ///< it cannot work; else it may, through programs that this one starts
    std::string text;  ///< why, and what to do
};

/// The file that execvp() would run; empty: none.
Path find_program(const std::string& name);

/// What keeps the program from a card, with the interpreters of scripts followed; none: nothing
/// that can be seen.
std::optional<Obstacle> obstacle_of(const Path& program);

/// Warns of an obstacle on stderr. Throws Error(kCannotExecute) for a certain one, unless `force`.
void check_program(const std::vector<std::string>& command, bool force);

}  // namespace dingo::cli
