// SPDX-License-Identifier: BSD-2-Clause
//
// dingo run [OPTIONS] [--] COMMAND...: the command sees the card instead of the machine's own RDMA
// devices. This process executes the command, so that signals and exit status are the command's.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/cli/checks.h"
#include "app/cli/cluster.h"
#include "app/cli/commands.h"
#include "app/cli/daemon.h"
#include "app/cli/error.h"
#include "app/cli/launch.h"
#include "app/cli/program_file.h"
#include "app/cli/start_options.h"
#include "app/cli/view.h"

namespace dingo::cli {
namespace {

/// Returns the cards by name. With `may_start`, starts the first one if it is not running.
std::vector<CardEntry> cards_for(std::vector<std::string> names, const StartOptions& start,
                                 bool may_start, bool trust_owner) {
    if (names.empty())
        names.push_back(start.name);
    std::vector<CardEntry> out;
    for (const std::string& name : names) {
        if (std::any_of(out.begin(), out.end(), [&](const auto& c) { return c.name == name; }))
            continue;
        if (name.find('/') != name.npos) {
            out.push_back(shared_card(name, trust_owner));
            continue;
        }
        CardEntry card = look_at(name);
        if (!card.running() && may_start && name == names[0]) {
            StartOptions options = start;
            options.name = name;
            card = start_card(options);
            fmt::print(stderr,
                       "dingo: started card {} (uverbs{}, wire {}); it keeps running, to stop it: "
                       "dingo card stop {}\n",
                       name, card.number(), options.wire, name);
        }
        out.push_back(card.running() ? card : running_card(name));
    }
    return out;
}

/// Returns the UIDs of trusted owners of foreign cards for the preload library: "1000,1001".
std::string trusted_owners(const std::vector<CardEntry>& cards) {
    std::string out;
    for (const CardEntry& card : cards)
        if (card.owner != 0 && card.owner != ::geteuid())
            out += (out.empty() ? "" : ",") + std::to_string(card.owner);
    return out;
}

int run(const std::vector<std::string>& names, const StartOptions& start, bool start_asked,
        const std::vector<std::string>& command, bool force, bool trust_owner, unsigned cluster) {
    if (command.empty())
        throw Error("there is no command to run: dingo run -- COMMAND...", kUsage);
    check_program(command, force);
    require_calls();
    const Libraries libraries = find_libraries();
    if (cluster != 0)
        return run_cluster(cluster, names.empty() ? "rank" : names.back(), start, command);
    Path view;
    {
        const UniqueFd lock = lock_run_dir();
        const auto cards = cards_for(names, start, names.empty() || start_asked, trust_owner);
        view = make_view(cards);
        if (const std::string owners = trusted_owners(cards); !owners.empty())
            ::setenv("DINGO_TRUST_OWNER", owners.c_str(), 1);
    }
    set_environment(libraries, view);
    become(command);
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
                    "The card that COMMAND sees; may be given several times. A name\nwith a '/' is "
                    "the directory of a card that another user shares")
        ->type_name("NAME")
        ->take_all()
        ->allow_extra_args(false);
    const auto force = std::make_shared<bool>(false);
    cmd->add_flag("--force", *force,
                  "Start COMMAND even if it will not see the card (setuid, musl, static)");
    const auto cluster = std::make_shared<unsigned>(0);
    cmd->add_option(
           "--cluster", *cluster,
           "COMMAND starts ranks (mpirun, torchrun ...): a card for each of N local ranks,\n"
           "rank0 ... (--card NAME: NAME0 ...), started now and stopped at the end")
        ->type_name("N")
        ->check(CLI::Range(1, 256));
    const auto trust_owner = std::make_shared<bool>(false);
    cmd->add_flag("--trust-owner", *trust_owner,
                  "Use a card of another user. It can access only memory that COMMAND\nregisters, "
                  "but libibverbs trusts what the card reports. Not needed\nfor cards of root");
    add_start_options(*cmd, *start);
    cmd->callback([=, &command, &action] {
        bool start_asked = false;
        for (const CLI::Option* option : cmd->get_options())
            start_asked |= option->count() != 0 && option->get_name() != "--card" &&
                           option->get_name() != "--force" &&
                           option->get_name() != "--trust-owner" &&
                           option->get_name() != "--cluster";
        action = [=, &command] {
            return run(*names, *start, start_asked, command, *force, *trust_owner, *cluster);
        };
    });
}

}  // namespace dingo::cli
