// SPDX-License-Identifier: BSD-2-Clause
//
// dingo card start | stop | list | show
#include <fmt/format.h>

#include <memory>

#include "app/cli/commands.h"
#include "app/cli/daemon.h"
#include "app/cli/error.h"
#include "app/cli/start_options.h"
#include "app/cli/table.h"
#include "base/json_text.h"

namespace dingo::cli {
namespace {

std::string joined(const Json& list) {
    std::string out;
    if (list.is_string())
        return list;
    if (list.is_array())
        for (const Json& item : list)
            out += (out.empty() ? "" : " ") +
                   (item.is_string() ? item.get<std::string>() : json_text(item));
    return out;
}

/// Returns the counters of a running card, an empty object if it does not answer.
Json stats_of(const CardEntry& card) {
    try {
        return card.running() ? ask(card, {{"cmd", "stats"}}) : Json::object();
    } catch (const Error&) {
        return Json::object();
    }
}

Json describe(const CardEntry& card, const Json& stats) {
    Json out{{"name", card.name},
             {"state", card.running() ? "running" : "dead"},
             {"directory", card.dir.string()},
             {"log", (card.dir / "log").string()}};
    out.update(card.info);
    out["pid"] = card.running() ? Json(card.pid) : Json();
    if (stats.contains("port"))
        for (const char* key : {"mac", "gids", "active_mtu", "max_mtu"})
            out[key] = stats["port"].value(key, Json());
    for (const char* key : {"engine", "link"})
        if (stats.contains(key))
            out[key] = stats[key];
    if (stats.contains("wire_description"))
        out["wire"] = stats["wire_description"];
    if (stats.contains("process"))
        out["process_serves"] = stats["process"]["cards"];
    if (stats.contains("clients"))
        out["clients"] =
            stats["clients"].is_array() ? Json(stats["clients"].size()) : stats["clients"];
    if (stats.contains("qps"))
        out["qps"] = stats["qps"].is_array() ? Json(stats["qps"].size()) : stats["qps"];
    return out;
}

std::string cell(const Json& object, const char* key) {
    if (!object.contains(key) || object[key].is_null())
        return "-";
    if (object[key].is_string())
        return object[key].get<std::string>();
    return object[key].is_array() ? joined(object[key]) : json_text(object[key]);
}

std::string link_of(const Json& card) {
    if (!card.contains("link") || !card["link"].is_boolean())
        return "-";
    return card["link"].get<bool>() ? "up" : "down";
}

/// The wire without details; `card show` shows its files.
std::string wire_of(const Json& card) {
    const std::string all = cell(card, "wire");
    return all.substr(0, all.find(" ("));
}

int start(const StartOptions& options, bool json) {
    check_name(options.name);
    const UniqueFd lock = lock_run_dir();
    if (const CardEntry old = look_at(options.name); old.running())
        throw Error(fmt::format("card {} runs already (pid {}); stop it first: dingo card stop {}",
                                old.name, old.pid, old.name));
    const CardEntry card = start_card(options);
    const Json about = describe(card, stats_of(card));
    if (json)
        fmt::print("{}\n", json_text(about, 2));
    else
        fmt::print("card {} runs: uverbs{}, {}, wire {}\n", card.name, card.number(),
                   cell(about, "addresses"), cell(about, "wire"));
    return kSuccess;
}

int stop(const std::string& name, bool all, bool json) {
    if (!all && !name.empty())
        check_name(name);
    if (all == !name.empty())
        throw Error("say which card, or --all: dingo card stop NAME", kUsage);
    const UniqueFd lock = lock_run_dir();
    Json stopped = Json::array();
    std::vector<CardEntry> cards;
    if (all)
        for (const CardEntry& card : all_cards())
            cards.push_back(card);
    else
        cards.push_back(look_at(name));
    for (const CardEntry& card : cards) {
        if (card.running()) {
            stop_card(card);
            stopped.push_back(card.name);
            if (!json)
                fmt::print("card {} stopped\n", card.name);
        } else if (std::filesystem::exists(card.dir / "card.json") ||
                   std::filesystem::exists(card.dir / "log")) {
            std::filesystem::remove_all(card.dir);  // the card was killed
            if (!all)
                fmt::print(stderr, "dingo: card {} was not running; removed its directory\n",
                           card.name);
        } else if (!all) {
            running_card(name);  // throws
        }
    }
    if (json)
        fmt::print("{}\n", json_text(Json{{"stopped", stopped}}, 2));
    return kSuccess;
}

int list(bool json, bool quiet) {
    Json out = Json::array();
    Table table({"NAME",
                 "STATE",
                 {"DEVICE", 3},
                 {"PID", 2},
                 {"LINK", 1},
                 {"CLIENTS", 4},
                 {"QPS", 4},
                 "ADDRESSES",
                 {"WIRE", 5}});
    for (const CardEntry& card : all_cards()) {
        const Json about = describe(card, quiet ? Json::object() : stats_of(card));
        out.push_back(about);
        if (quiet && card.running())
            fmt::print("{}\n", card.name);
        table.add({card.name, cell(about, "state"),
                   card.number() < 0 ? "-" : fmt::format("uverbs{}", card.number()),
                   cell(about, "pid"), link_of(about), cell(about, "clients"), cell(about, "qps"),
                   cell(about, "addresses"), wire_of(about)});
    }
    if (quiet)
        return kSuccess;
    if (json)
        fmt::print("{}\n", json_text(out, 2));
    else if (table.empty())
        fmt::print("no card runs; start one: dingo card start\n");
    else
        fmt::print("{}", table.text(output_width()));
    return kSuccess;
}

void print_lines(const Json& object, const std::string& indent) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_object()) {
            fmt::print("{}{}:\n", indent, key);
            print_lines(value, indent + "  ");
        } else if (value.is_array() && !value.empty() && value[0].is_object()) {
            for (const Json& item : value) {
                fmt::print("{}{}:\n", indent, key);
                print_lines(item, indent + "  ");
            }
        } else {
            fmt::print("{}{:<20} {}\n", indent, key, cell(object, key.c_str()));
        }
    }
}

/// "3 of 16384", and how often the limit was hit.
std::string quota_text(const Json& quota) {
    const auto refused = quota.value("refused", std::uint64_t{0});
    return fmt::format("{} of {}{}", quota.value("used", std::uint64_t{0}),
                       quota.value("limit", std::uint64_t{0}),
                       refused == 0 ? "" : fmt::format(", refused {} times", refused));
}

int show(const std::string& name, bool json) {
    const CardEntry card = look_at(name);
    if (!card.running() && card.info.empty())
        running_card(name);  // throws
    const Json stats = stats_of(card);
    Json about = describe(card, stats);
    if (json) {
        about["stats"] = stats;
        fmt::print("{}\n", json_text(about, 2));
    } else {
        const Json quotas = stats.value("quotas", Json::object());
        for (const auto& [what, quota] : quotas.items())
            about["in_use"][what] = quota_text(quota);
        if (const Json holds = stats.value("holds", Json::object());
            holds.value("held_us", std::uint64_t{0}) != 0)
            about["held"] = fmt::format("{} ms in page faults by clients, {} times too long",
                                        holds.value("held_us", std::uint64_t{0}) / 1000,
                                        holds.value("offences", std::uint64_t{0}));
        print_lines(about, "");
    }
    return kSuccess;
}

}  // namespace

void add_card(CLI::App& app, const Common& common, Action& action) {
    auto* const cmd = app.add_subcommand("card", "Start, stop and look at cards");
    cmd->require_subcommand(1)->fallthrough();

    auto* const start_cmd =
        cmd->add_subcommand("start", "Start a card in the background")->fallthrough();
    const auto options = std::make_shared<StartOptions>();
    start_cmd->add_option("NAME", options->name, "Name of the card in ibv_devices")
        ->capture_default_str();
    add_start_options(*start_cmd, *options);
    start_cmd->callback(
        [=, &common, &action] { action = [=, &common] { return start(*options, common.json); }; });

    const auto name = std::make_shared<std::string>();
    const auto all = std::make_shared<bool>(false);
    auto* const stop_cmd = cmd->add_subcommand("stop", "Stop a card")->fallthrough();
    stop_cmd->add_option("NAME", *name, "The card");
    stop_cmd->add_flag("--all", *all, "All cards of the run directory");
    stop_cmd->callback([=, &common, &action] {
        action = [=, &common] { return stop(*name, *all, common.json); };
    });

    auto* const list_cmd = cmd->add_subcommand("list", "List the cards")->fallthrough();
    const auto quiet = std::make_shared<bool>(false);
    list_cmd->add_flag("-q,--quiet", *quiet, "Names of running cards only");
    list_cmd->callback(
        [=, &common, &action] { action = [=, &common] { return list(common.json, *quiet); }; });

    auto* const show_cmd = cmd->add_subcommand("show", "Show one card")->fallthrough();
    const auto shown = std::make_shared<std::string>("dingo0");
    show_cmd->add_option("NAME", *shown, "The card")->capture_default_str();
    show_cmd->callback(
        [=, &common, &action] { action = [=, &common] { return show(*shown, common.json); }; });
}

}  // namespace dingo::cli
