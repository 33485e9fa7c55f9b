// SPDX-License-Identifier: BSD-2-Clause
//
// dingo pair A B -- COMMAND [-- CLIENT_COMMAND]: runs a server with card A and, when it listens, a
// client with card B.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "app/cli/checks.h"
#include "app/cli/commands.h"
#include "app/cli/error.h"
#include "app/cli/launch.h"
#include "app/cli/processes.h"
#include "app/cli/program_file.h"
#include "app/cli/start_options.h"
#include "app/cli/started_cards.h"
#include "app/cli/view.h"
#include "cli/number.h"

namespace dingo::cli {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

constexpr int kTimeOut = 124;  ///< exit status of timeout(1)

struct PairOptions {
    std::string server = "alice";
    std::string client = "bob";
    std::string address = "localhost";
    std::string wait_for;
    double wait = 30;
    double linger = 5;
    double time = 0;
    bool no_address = false;
    bool show_server = false;
    StartOptions start;
};

/// The two cards and their views.
struct PairCards {
    explicit PairCards(const PairOptions& options) {
        const UniqueFd lock = lock_run_dir();
        StartOptions other = options.start;
        other.pcap.clear();  // a file records one card only
        server = all.bring(options.server, options.start);
        server_view = make_view({server});
        client_view = make_view({all.bring(options.client, other)});
    }
    StartedCards all;
    CardEntry server;
    Path server_view, client_view;
};

void replace_all(std::string& text, std::string_view what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
        text.replace(at, what.size(), by);
}

/// Returns the first address of the card without its prefix length.
std::string address_of(const CardEntry& card) {
    const Json list = card.info.value("addresses", Json::array());
    const std::string first =
        list.empty() || !list[0].is_string() ? "" : list[0].get<std::string>();
    return first.substr(0, first.find('/'));
}

struct Commands {
    Words server, client;
};

/// Replaces "{}" by the server's address and "{ip}" by that of its card. A client command with
/// neither gets the address as its last word.
Commands commands_of(const PairOptions& o, const Words& words, const CardEntry& server) {
    const auto split = std::find(words.begin(), words.end(), "--");
    Commands out{{words.begin(), split}, {words.begin(), split}};
    if (split != words.end())
        out.client.assign(split + 1, words.end());
    if (out.server.empty() || out.client.empty())
        throw Error("there is no command to run: dingo pair A B -- COMMAND [-- CLIENT_COMMAND]",
                    kUsage);
    const bool named = std::any_of(out.client.begin(), out.client.end(), [](const auto& w) {
        return w.find("{}") != w.npos || w.find("{ip}") != w.npos;
    });
    if (!named && !o.no_address)
        out.client.emplace_back("{}");
    for (Words* side : {&out.server, &out.client})
        for (std::string& word : *side) {
            replace_all(word, "{}", o.address);
            replace_all(word, "{ip}", address_of(server));
        }
    return out;
}

/// Collects the server's output.
class Output {
  public:
    Output() : fd_(::memfd_create("dingo-pair", MFD_CLOEXEC)) {}
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::string text() const {
        std::string out;
        char buffer[4096];
        for (ssize_t n;
             (n = ::pread(fd_.get(), buffer, sizeof buffer, static_cast<off_t>(out.size()))) > 0;)
            out.append(buffer, static_cast<std::size_t>(n));
        return out;
    }

  private:
    UniqueFd fd_;
};

/// Returns the number of listening rdma_cm identifiers of the card; 0 if the card cannot be asked.
std::size_t cm_listeners(const CardEntry& card) {
    try {
        const Json stats = ask(card, {{"cmd", "stats"}});
        return stats.value("rdma_cm", Json::object()).value("listeners", std::size_t{0});
    } catch (const Error&) {
        return 0;
    }
}

milliseconds seconds(double value) {
    return milliseconds(static_cast<long>(value * 1000));
}

void say(const std::string& what, const std::string& output) {
    fmt::print(stderr, "dingo: {}{}\n{}", what,
               output.empty() ? "; it wrote nothing" : "; it wrote:", output);
}

/// Waits until the server accepts clients. Returns nullopt then, else the exit status of `pair`.
std::optional<int> until_it_listens(Family& family, pid_t server, const PairOptions& o,
                                    const Output& output, const CardEntry& card,
                                    std::size_t listeners_before) {
    bool ready = false;
    family.wait_for(
        [&] {
            ready = o.wait_for.empty() ? family.listens() || cm_listeners(card) > listeners_before
                                       : output.text().find(o.wait_for) != std::string::npos;
            return ready || family.status(server).has_value();
        },
        seconds(o.wait));
    if (ready)
        return std::nullopt;
    if (const auto status = family.status(server)) {
        say(fmt::format("the server exited with status {} before the client could start", *status),
            output.text());
        return *status != 0 ? *status : kFailed;
    }
    say(o.wait_for.empty()
            ? fmt::format("the server listens neither on a TCP port nor with rdma_cm after {} s "
                          "(--wait-for TEXT waits for its output instead)",
                          o.wait)
            : fmt::format("the server has not written '{}' after {} s", o.wait_for, o.wait),
        output.text());
    return kFailed;
}

/// Waits for the end of the client and then of the server. Returns the exit status of `pair`.
int run_client(Family& family, pid_t server, const Words& command, const Family::Start& how,
               const PairOptions& o, const Output& output) {
    const pid_t client = family.start(command, how);
    const auto server_failed = [&] { return family.status(server).value_or(0) != 0; };
    bool in_time =
        family.wait_for([&] { return family.status(client).has_value() || server_failed(); },
                        o.time > 0 ? seconds(o.time) : kForever);
    if (in_time && !family.status(client))
        family.wait_for([&] { return family.status(client).has_value(); }, seconds(o.linger));
    const auto client_status = family.status(client);
    const bool ended = family.wait_for([&] { return family.status(server).has_value(); },
                                       client_status ? seconds(o.linger) : milliseconds(0));
    if (o.show_server)
        fmt::print("--- the server wrote:\n{}", output.text());
    if (server_failed())
        say(fmt::format("the server exited with status {}", *family.status(server)),
            o.show_server ? "" : output.text());
    if (!in_time) {
        fmt::print(stderr,
                   "dingo: the client did not exit within {} s; stopped client and server\n",
                   o.time);
        return kTimeOut;
    }
    if (client_status && !ended)
        fmt::print(stderr,
                   "dingo: the server was still running {} s after the client exited; stopped it\n",
                   o.linger);
    if (!client_status)
        fmt::print(stderr,
                   "dingo: the client was still running after the server failed; stopped it\n");
    const int status = client_status.value_or(kFailed);
    return status != 0 ? status : family.status(server).value_or(0);
}

int pair(const PairOptions& o, const Words& words) {
    if (words.empty())
        commands_of(o, words, {});  // throws
    if (!o.start.ips.empty() && o.server != o.client)
        throw Error(
            "--ip would give two cards the same addresses: start them first, each with its own: "
            "dingo card start NAME --ip ADDR/PREFIX",
            kUsage);
    require_calls();
    const Libraries libraries = find_libraries();
    const PairCards cards(o);
    const Commands commands = commands_of(o, words, cards.server);
    check_program(commands.server, false);
    check_program(commands.client, false);
    const Output output;
    const auto with = [&](const Path& view) {
        return [&libraries, view] { set_environment(libraries, view); };
    };
    const std::size_t listeners = cm_listeners(cards.server);
    Family family;
    try {
        const pid_t server =
            family.start(commands.server, {with(cards.server_view), output.fd(), true});
        if (const auto failed =
                until_it_listens(family, server, o, output, cards.server, listeners))
            return *failed;
        const int status = run_client(family, server, commands.client,
                                      {with(cards.client_view), -1, false}, o, output);
        return status;
    } catch (const Interrupted& interrupted) {
        return 128 + interrupted.signal;
    }
}

}  // namespace

void add_pair(CLI::App& app, const std::vector<std::string>& command, Action& action) {
    auto* const cmd = app.add_subcommand(
        "pair",
        "Run a server with one card and its client with another: dingo pair A B -- COMMAND");
    cmd->footer(
        "Usage: dingo pair [A [B]] [OPTIONS] -- COMMAND... [-- CLIENT_COMMAND...]\n\n"
        "Cards that do not run are started, and stopped at the end. COMMAND runs with card A; "
        "when\n"
        "it listens (TCP or rdma_cm) the same command, or CLIENT_COMMAND, runs with card B, with\n"
        "the server's address as its last word. A word '{}' in either stands for the address\n"
        "(then none is appended), '{ip}' for that of card A, which rdma_cm wants:\n\n"
        "  dingo pair -- ib_write_bw\n"
        "  dingo pair a b --faults drop=1% -- ib_send_bw -a\n"
        "  dingo pair a b -- rping -s -C 9 -a {ip} -- rping -c -C 9 -a {ip}\n\n"
        "The client's output is shown, the server's when it fails. The exit status is the "
        "client's;\n"
        "when that is 0, the server's, if it ended by itself; 124 when --timeout ended them.");
    const auto o = std::make_shared<PairOptions>();
    cmd->add_option("A", o->server, "Card of the server")->capture_default_str();
    cmd->add_option("B", o->client, "Card of the client; may be the same")->capture_default_str();
    cmd->add_option("--address", o->address, "Address of the server that the client is given")
        ->capture_default_str();
    cmd->add_flag("--no-address", o->no_address, "Append nothing to the client's command");
    cmd->add_option("--wait-for", o->wait_for,
                    "The server is ready when it has written this (default: when it listens)")
        ->type_name("TEXT");
    cmd->add_option("--wait", o->wait, "Time limit until the server is ready")
        ->type_name("SECONDS")
        ->capture_default_str()
        ->check(::cli::kPositive);
    cmd->add_option("--linger", o->linger, "Time limit of the server after the client has ended")
        ->type_name("SECONDS")
        ->capture_default_str()
        ->check(::cli::kNonNegative);
    cmd->add_option("--timeout", o->time, "Time limit of the client (default: none)")
        ->type_name("SECONDS")
        ->check(::cli::kPositive);
    cmd->add_flag("--show-server", o->show_server, "Print the server's output, too");
    add_start_options(*cmd, o->start);
    cmd->callback([=, &command, &action] { action = [=, &command] { return pair(*o, command); }; });
}

}  // namespace dingo::cli
