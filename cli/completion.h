// SPDX-License-Identifier: BSD-2-Clause
//
// Completion of a program's command line in shells, made from what CLI11 knows of its options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// Values that CLI11 does not know.
struct Values {
    std::string of;  ///< an option ("--card"), or a command's words ("card stop"; "": no command)
    std::string words;   ///< separated by blanks
    std::string prints;  ///< or a shell command that prints them
};

/// Shells that there is a script for.
inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

/// The argument of a program's command "completion".
void add_shell(CLI::App& command, std::string& shell);

/// The script, for `shell`; a name of an option's group "" hides it here, too. Values of an option
/// whose type_name is FILE or DIR are files. `commands`: below these ("run") another command's line
/// begins behind "--".
std::string completion(const CLI::App& app, std::string_view shell,
                       const std::vector<Values>& values = {},
                       const std::vector<std::string>& commands = {});

}  // namespace cli
