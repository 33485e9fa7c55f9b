// SPDX-License-Identifier: BSD-2-Clause
//
// The command line of a program that has one command.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/completion.h"

namespace cli {

/// Takes the words, of an option that is repeated the last one, and has a command `completion
/// SHELL`. Ends the program after that and --help, and with status 2 and a sentence where they are
/// wrong. No positional may be required.
void parse(CLI::App& app, int argc, char** argv, const std::vector<Values>& values = {});

}  // namespace cli
