// SPDX-License-Identifier: BSD-2-Clause
//
// Makes scripts that complete a program's command line in shells, from its CLI11 options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Values to offer that CLI11 does not know.
struct Values {
    std::string of;  ///< an option ("--card"), or a command's words ("card stop"; "": no command)
    std::string words;   ///< separated by blanks
    std::string prints;  ///< a shell command that prints them, if `words` is empty
};

/// The shells for which completion() makes scripts.
inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

/// Adds the argument of a program's command "completion".
void add_shell(CLI::App& command, std::string& shell);

/// Returns the script for `shell`. Options in the group "" are hidden. Options whose type_name is
/// FILE or DIR are completed with files. `commands`: commands ("run") after which another program's
/// command line follows "--".
std::string completion(const CLI::App& app, std::string_view shell,
                       const std::vector<Values>& values = {},
                       const std::vector<std::string>& commands = {});

}  // namespace cli
