// SPDX-License-Identifier: BSD-2-Clause
//
// Examines a program before it is started: will it see a card?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/places.h"

namespace dingo::cli {

struct Obstacle {
    bool certain;      ///< true: it cannot work; false: it may work through programs that it starts
    std::string text;  ///< the reason and its remedy
};

/// Returns the file that execvp() would execute, empty if there is none.
Path find_program(const std::string& name);

/// Returns what prevents the program, or the interpreter of a script, from using a card; nullopt if
/// nothing was found.
std::optional<Obstacle> obstacle_of(const Path& program);

/// Prints a warning about an obstacle to stderr. Throws Error(kCannotExecute) for a certain one,
/// unless `force`.
void check_program(const std::vector<std::string>& command, bool force);

}  // namespace dingo::cli
