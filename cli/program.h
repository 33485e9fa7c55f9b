// SPDX-License-Identifier: BSD-2-Clause
//
// The command line of a program without subcommands.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/completion.h"

namespace cli {

/// Parses the command line; the last use of a repeated option counts. Adds a command `completion
/// SHELL`. Exits after that command and after --help, and with status 2 and a message on errors. No
/// positional may be required.
void parse(CLI::App& app, int argc, char** argv, const std::vector<Values>& values = {});

}  // namespace cli
