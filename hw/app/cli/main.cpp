// SPDX-License-Identifier: BSD-2-Clause
//
// dingo: RDMA cards without a kernel driver. docs/reference/kernel-less.md, docs/man/dingo.1.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "app/cli/commands.h"
#include "app/cli/error.h"
#include "app/cli/suggest.h"
#include "base/run_dir.h"

namespace dingo::cli {
namespace {

constexpr const char* kAbout =
    R"(RDMA (RoCE v2) on any Linux machine: a card in user space, and programs that use it.

  dingo run -- ibv_devices               any program, with the card dingo0, started when needed
  dingo pair a b -- ib_write_bw          server and client, with two cards on one wire
  dingo card start a; dingo card start b cards that stay; dingo run --card a -- ...
  dingo doctor                           what this machine lacks)";

constexpr const char* kFooter =
    "Exit codes: 0 success; 1 failure; 2 wrong usage; 3 no such card; `run`: the command's own,\n"
    "126 when it cannot be executed, 127 when it is not found.\n"
    "DINGO_RUN names the directory of the cards (default: $XDG_RUNTIME_DIR/dingo or "
    "/tmp/dingo-UID).";

/// Takes the command of `run` or `pair` from the end of `words`: for `pair` the words after "--",
/// for `run` those from the first word that is neither an option nor an option's value.
std::vector<std::string> split_command(std::vector<std::string>& words) {
    if (!words.empty() && words[0] == "pair") {
        const auto at = std::find(words.begin(), words.end(), "--");
        std::vector<std::string> command(at == words.end() ? at : at + 1, words.end());
        words.erase(at, words.end());
        return command;
    }
    if (words.empty() || words[0] != "run")
        return {};
    const auto flag = [](const std::string& w) {
        return w == "--share" || w == "--force" || w == "--trust-owner" || w == "--one-process" ||
               w == "--own-process" || w == "-h" || w == "--help" || w.find('=') != w.npos ||
               (w.size() > 2 && w[1] != '-');
    };
    std::size_t at = 1;
    while (at < words.size() && words[at] != "--" && words[at].size() > 1 && words[at][0] == '-')
        at += flag(words[at]) ? 1 : 2;
    at = std::min(at, words.size());
    std::vector<std::string> command(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    words.resize(at);
    if (!command.empty() && command[0] == "--")
        command.erase(command.begin());
    return command;
}

int run_tool(int argc, char** argv) {
    CLI::App app{kAbout, "dingo"};
    app.get_formatter()->column_width(34);
    app.require_subcommand(1);
    app.set_version_flag("--version", "dingo " DINGO_VERSION);
    app.footer(kFooter);
    Common common;
    app.add_flag("--json", common.json, "Print JSON");

    std::vector<std::string> words(argv + 1, argv + argc);
    const std::vector<std::string> command = split_command(words);
    Action action;
    add_run(app, command, action);
    add_pair(app, command, action);
    add_card(app, common, action);
    add_stats(app, common, action);
    add_doctor(app, common, action);
    add_p2p(app, common, action);
    add_completion(app, action);
    check_command(app, words);
    const std::vector<std::string> asked = words;
    try {
        std::reverse(words.begin(), words.end());  // CLI11 takes them in reverse order
        app.parse(words);
    } catch (const CLI::ParseError& e) {
        const int status = app.exit(e) == 0 ? kSuccess : kUsage;
        if (const std::string hint = likely_option(app, asked); status != kSuccess && !hint.empty())
            fmt::print(stderr, "{}\n", hint);
        return status;
    }
    return action();
}

}  // namespace
}  // namespace dingo::cli

int main(int argc, char** argv) {
    // A relative path is relative to this directory, in all started programs as well.
    if (const char* const dir = std::getenv("DINGO_RUN"); dir != nullptr && *dir != '\0')
        ::setenv("DINGO_RUN", dingo::run_dir().c_str(), 1);
    try {
        return dingo::cli::run_tool(argc, argv);
    } catch (const dingo::cli::Error& e) {
        fmt::print(stderr, "dingo: {}\n", e.what());
        return e.status();
    } catch (const std::exception& e) {
        fmt::print(stderr, "dingo: {}\n", e.what());
        return dingo::cli::kFailed;
    }
}
