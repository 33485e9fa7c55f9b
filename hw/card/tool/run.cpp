// SPDX-License-Identifier: BSD-2-Clause
//
// dingo run [OPTIONS] [--] COMMAND...: the command sees the card instead of the machine's own RDMA
// devices. This process becomes the command, so that signals and exit status are its own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tool/commands.h"
#include "tool/daemon.h"
#include "tool/error.h"
#include "tool/start_options.h"
#include "tool/view.h"

namespace dingo::tool {
namespace {

/// Puts `value` in front of the list in the environment variable, unless it is there.
void prepend(const char* variable, const std::string& value, const char* separators) {
    const char* const old = std::getenv(variable);
    std::string list = value;
    for (std::string_view rest = old != nullptr ? old : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
        if (end != 0 && rest.substr(0, end) != value)
            list += separators[0] + std::string(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    ::setenv(variable, list.c_str(), 1);
}

/// The cards by name, started where that was asked for: the default card always is.
std::vector<CardEntry> cards_for(std::vector<std::string> names, const StartOptions& start,
                                 bool may_start) {
    if (names.empty())
        names.push_back(start.name);
    std::vector<CardEntry> out;
    for (const std::string& name : names) {
        if (std::any_of(out.begin(), out.end(), [&](const auto& c) { return c.name == name; }))
            continue;
        if (name.find('/') != name.npos) {
            out.push_back(shared_card(name));
            continue;
        }
        CardEntry card = look_at(name);
        if (!card.running() && may_start && name == names[0]) {
            StartOptions options = start;
            options.name = name;
            card = start_card(options);
            fmt::print(stderr,
                       "dingo: started card {} (uverbs{}, wire {}); it runs on: dingo card "
                       "stop {}\n",
                       name, card.number(), options.wire, name);
        }
        out.push_back(card.running() ? card : running_card(name));
    }
    return out;
}

int run(const std::vector<std::string>& names, const StartOptions& start, bool start_asked,
        const std::vector<std::string>& command) {
    if (command.empty())
        throw Error("there is no command to run: dingo run -- COMMAND...", kUsage);
    const std::string preload = find_preload();
    const std::string driver = driver_name(find_provider());
    for (const std::string& path : {preload, driver})
        if (path.find_first_of(": ;") != std::string::npos)
            throw Error(
                fmt::format("the path {} has a blank, ':' or ';' in it, which LD_PRELOAD "
                            "and RDMAV_DRIVERS cannot take: move Dingo elsewhere",
                            path));
    Path view;
    {
        const card::UniqueFd lock = lock_run_dir();
        view = make_view(cards_for(names, start, names.empty() || start_asked));
    }
    const char* const other_drivers = std::getenv("IBV_DRIVERS");
    if (std::getenv("RDMAV_DRIVERS") == nullptr && other_drivers != nullptr)
        ::setenv("RDMAV_DRIVERS", other_drivers, 1);  // the former hides the latter
    ::setenv("DINGO_VIEW", view.c_str(), 1);
    prepend("LD_PRELOAD", preload, ": ");
    prepend("RDMAV_DRIVERS", driver, ":;");

    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& word : command)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    throw Error(fmt::format("cannot run {}: {}", command[0], std::strerror(error)),
                error == ENOENT ? kNotFound : kCannotExecute);
}

}  // namespace

void add_run(CLI::App& app, const std::vector<std::string>& command, Action& action) {
    auto* const cmd =
        app.add_subcommand("run", "Run a program with a card: dingo run [OPTIONS] -- COMMAND...");
    cmd->footer(
        "Usage: dingo run [OPTIONS] [--] COMMAND...\n\n"
        "COMMAND sees the card instead of the machine's own RDMA devices. The card dingo0 is\n"
        "started when it does not run; with --ip, --wire, ... also one that --card names.\n"
        "The exit status is the command's own.");
    const auto names = std::make_shared<std::vector<std::string>>();
    const auto start = std::make_shared<StartOptions>();
    cmd->add_option("-c,--card", *names,
                    "The card that COMMAND sees; may be given several times. The\n"
                    "directory of a card, with a '/' in it: one that another user shares")
        ->type_name("NAME")
        ->take_all()
        ->allow_extra_args(false);
    add_start_options(*cmd, *start);
    cmd->callback([=, &command, &action] {
        bool start_asked = false;
        for (const CLI::Option* option : cmd->get_options())
            start_asked |= option->count() != 0 && option->get_name() != "--card";
        action = [=, &command] { return run(*names, *start, start_asked, command); };
    });
}

}  // namespace dingo::tool
