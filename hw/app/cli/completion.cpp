// SPDX-License-Identifier: BSD-2-Clause
//
// dingo completion SHELL: prints a script for the shell, which calls `dingo card list -q` for
// names.
#include "cli/completion.h"

#include <fmt/format.h>

#include <memory>

#include "app/cli/commands.h"
#include "app/cli/error.h"

namespace dingo::cli {
namespace {

int completion(const CLI::App& app, const std::string& shell) {
    const std::string running = "dingo card list -q";
    const std::string columns =
        "OUT_GBIT/S IN_GBIT/S OUT_BYTES IN_BYTES MSG/S MSG RETRANS DROPS PEER QPS CLIENTS";
    fmt::print("{}",
               ::cli::completion(app, shell,
                                 {{"-c --card", "", running},
                                  {"--wire", "shm roce roce: udp: unix: tap: packet: none", ""},
                                  {"--sort", columns, ""},
                                  {"--engine", "model rtl", ""},
                                  {"pair", "", running},
                                  {"stats", "", running},
                                  {"card stop", "", running},
                                  {"card show", "", running}},
                                 {"run", "pair"}));
    return kSuccess;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
    auto* const cmd = app.add_subcommand("completion", "Print a completion script for a shell");
    const auto shell = std::make_shared<std::string>();
    ::cli::add_shell(*cmd, *shell);
    cmd->callback([=, &app, &action] { action = [=, &app] { return completion(app, *shell); }; });
}

}  // namespace dingo::cli
