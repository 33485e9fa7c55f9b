// SPDX-License-Identifier: BSD-2-Clause
//
// dingo stats: prints a card's counters; with --watch, a live table with rates.
#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <cstring>
#include <memory>
#include <thread>

#include "app/cli/cards.h"
#include "app/cli/commands.h"
#include "app/cli/error.h"
#include "app/cli/stats_tables.h"
#include "app/cli/table.h"
#include "base/json_text.h"

namespace dingo::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct StatsOptions {
    std::string name;  ///< "": all cards
    double every = 0;  ///< 0: once
    std::string sort;
};

std::vector<Sample> sample(const std::string& name) {
    std::vector<CardEntry> cards;
    if (name.empty()) {
        for (const CardEntry& card : all_cards())
            if (card.running())
                cards.push_back(card);
    } else {
        cards.push_back(running_card(name));
    }
    std::vector<Sample> out;
    out.reserve(cards.size());
    for (const CardEntry& card : cards)
        out.push_back({card.name, ask(card, {{"cmd", "stats"}}), Clock::now()});
    return out;
}

Json json_of(const std::vector<Sample>& samples) {
    Json out = Json::array();
    for (const Sample& s : samples) {
        Json one{{"name", s.name}};
        one.update(s.stats);
        out.push_back(one);
    }
    return out;
}

/// Returns the view for the terminal's current size.
StatsView view_of(const StatsOptions& options, bool screen) {
    StatsView out;
    out.width = output_width();
    winsize size{};
    if (screen && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        out.lines = size.ws_row;
    out.sort = options.sort;
    out.utf8 = std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
    return out;
}

int stats(const StatsOptions& options, bool json) {
    std::setlocale(LC_CTYPE, "");
    check_sort(options.sort, options.every > 0);
    History history;
    std::vector<Sample> now = sample(options.name);
    if (options.every <= 0) {
        fmt::print("{}", json ? json_text(json_of(now), 2) + "\n"
                              : stats_text(now, {}, history, view_of(options, false)));
        return kSuccess;
    }
    const bool screen = !json && ::isatty(STDOUT_FILENO) != 0;
    for (;;) {
        std::this_thread::sleep_for(std::chrono::duration<double>(options.every));
        const std::vector<Sample> before = std::move(now);
        now = sample(options.name);
        history.add(now, before);
        if (json)
            fmt::print("{}\n", json_text(json_of(now)));  // one line per sample
        else
            fmt::print("{}{}{}", screen ? "\x1b[H\x1b[2J" : "",
                       stats_text(now, before, history, view_of(options, screen)),
                       screen ? "" : "\n");
        if (std::fflush(stdout) != 0)
            return kSuccess;  // the reader has closed the pipe
    }
}

/// Parses the word after --watch: seconds, or the card's name.
void take_watch_word(const std::string& word, StatsOptions& options) {
    double seconds = 0;
    if (CLI::detail::lexical_cast(word, seconds)) {
        if (seconds < 0.05)
            throw CLI::ValidationError("--watch", "at least 0.05 seconds");
        options.every = seconds;
    } else if (const CardEntry card = look_at(word); card.running() || !card.info.empty()) {
        options.name = word;
    } else {
        throw CLI::ValidationError(
            "--watch", fmt::format("'{}' is neither a number of seconds nor a card", word));
    }
}

}  // namespace

void add_stats(CLI::App& app, const Common& common, Action& action) {
    auto* const cmd =
        app.add_subcommand("stats", "Show counters of cards and their QPs")->fallthrough();
    const auto options = std::make_shared<StatsOptions>();
    cmd->add_option("NAME", options->name, "The card (default: all that run)");
    auto* const watch = cmd->add_option_function<std::vector<std::string>>(
        "-w,--watch",
        [=](const std::vector<std::string>& words) {
            options->every = 1;
            for (const std::string& word : words)
                if (!word.empty())
                    take_watch_word(word, *options);
        },
        "Show rates at this interval (default: every second)");
    watch->type_name("[SECONDS]")->expected(0, 2);
    cmd->add_option(
           "--sort", options->sort,
           "Title of the column by which cards and QPs are sorted, e.g. OUT_GBIT/S, RETRANS")
        ->type_name("COLUMN");
    cmd->callback(
        [=, &common, &action] { action = [=, &common] { return stats(*options, common.json); }; });
}

}  // namespace dingo::cli
