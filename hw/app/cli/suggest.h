// SPDX-License-Identifier: BSD-2-Clause
//
// "Did you mean" for unknown commands and options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dingo::cli {

/// Throws Error(kUsage), which lists the commands and suggests one, if `words` do not begin with a
/// command of `app`. An empty list is left to CLI11.
void check_command(const CLI::App& app, const std::vector<std::string>& words);

/// Returns "Did you mean --watch?" for an option unknown to the commands in use; "" without a
/// suggestion.
std::string likely_option(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace dingo::cli
