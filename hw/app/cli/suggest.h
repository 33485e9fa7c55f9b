// SPDX-License-Identifier: BSD-2-Clause
//
// "Did you mean" for words that are no command and no option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dingo::cli {

/// Throws Error(kUsage), which names the commands that there are and the likely one, when `words`
/// do not begin with one of the commands of `app`. No words at all are left to CLI11.
void check_command(const CLI::App& app, const std::vector<std::string>& words);

/// " Did you mean --watch?" for an option that the commands in use do not know; "" without an idea.
std::string likely_option(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace dingo::cli
