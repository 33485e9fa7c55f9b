// SPDX-License-Identifier: BSD-2-Clause
// The subcommands. Each add_...() adds its options to the application and sets `action`, which
// returns the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace dingo::cli {

using Action = std::function<int()>;

/// Options of all commands.
struct Common {
    bool json = false;
};

void add_card(CLI::App& app, const Common& common, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, const Common& common, Action& action);
void add_p2p(CLI::App& app, const Common& common, Action& action);
/// `command`: the words after the options of `pair`, which CLI11 does not see.
void add_pair(CLI::App& app, const std::vector<std::string>& command, Action& action);
/// `command`: the words after the options of `run`, which CLI11 does not see.
void add_run(CLI::App& app, const std::vector<std::string>& command, Action& action);
void add_stats(CLI::App& app, const Common& common, Action& action);

}  // namespace dingo::cli
