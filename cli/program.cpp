// SPDX-License-Identifier: BSD-2-Clause
#include "cli/program.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace cli {

void parse(CLI::App& app, int argc, char** argv, const std::vector<Values>& values) {
    for (CLI::Option* const option : app.get_options()) {
        if (option->get_items_expected_max() == 1) {
            option->take_last();
        }
    }
    std::string shell;
    auto* const command = app.add_subcommand("completion", "Print a completion script for a shell");
    add_shell(*command, shell);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    if (command->parsed()) {
        std::fputs(completion(app, shell, values).c_str(), stdout);
        std::exit(0);
    }
}

}  // namespace cli
