// SPDX-License-Identifier: BSD-2-Clause
//
// dingo stats: what a card counted; with --watch, a live table with rates.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "json_text.h"
#include "run_dir.h"
#include "tool/cards.h"
#include "tool/commands.h"
#include "tool/error.h"
#include "tool/table.h"

namespace dingo::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Sample {
    std::string name;
    Json stats;
    Clock::time_point time;
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

double counter(const Json& stats, const char* group, const char* key) {
    const auto it = stats.find(group);
    if (it == stats.end() || !it->is_object() || !it->contains(key) || !(*it)[key].is_number())
        return 0;
    return (*it)[key].get<double>();
}

std::size_t count_of(const Json& stats, const char* key) {
    if (!stats.contains(key))
        return 0;
    if (stats[key].is_number_unsigned())
        return stats[key].get<std::size_t>();
    return stats[key].is_array() ? stats[key].size() : 0;
}

/// Frames that the wire lost or refused.
double wire_drops(const Json& stats) {
    double sum = 0;
    for (const char* key : {"tx_no_peer", "tx_errors", "rx_short", "rx_long", "rx_overrun",
                            "rx_errors", "tx_dropped", "tx_not_roce"})
        sum += counter(stats, "wire", key);
    return sum;
}

const Sample* same_card(const std::vector<Sample>& samples, const std::string& name) {
    const auto it = std::find_if(samples.begin(), samples.end(),
                                 [&](const Sample& s) { return s.name == name; });
    return it == samples.end() ? nullptr : &*it;
}

const char* state_name(int state) {
    constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return state >= 0 && state < static_cast<int>(std::size(kNames)) ? kNames[state] : "?";
}

/// A QP with its counters beside its other fields, as the table shows it.
Json flat(const Json& qp) {
    Json out = Json::object();
    for (const auto& [key, value] : qp.items()) {
        if (value.is_object())
            out.update(value);
        else if (key == "state" && value.is_number_integer())
            out[key] = state_name(value.get<int>());
        else
            out[key] = value;
    }
    return out;
}

/// The change of a counter in a second between two samples.
double rate(double now, double before, double seconds) {
    return now < before || seconds <= 0 ? 0 : (now - before) / seconds;
}

std::string card_table(const std::vector<Sample>& now, const std::vector<Sample>& before) {
    const bool rates = !before.empty();
    Table table({"CARD", "LINK", "CLIENTS", "QPS", rates ? "TX_PKT/S" : "TX_PKT",
                 rates ? "TX_GBIT/S" : "TX_BYTES", rates ? "RX_PKT/S" : "RX_PKT",
                 rates ? "RX_GBIT/S" : "RX_BYTES", "WIRE_DROPS"});
    for (const Sample& s : now) {
        const Sample* const old = same_card(before, s.name);
        const double seconds =
            old != nullptr ? std::chrono::duration<double>(s.time - old->time).count() : 0;
        std::vector<std::string> row{s.name, s.stats.value("link", false) ? "up" : "down",
                                     std::to_string(count_of(s.stats, "clients")),
                                     std::to_string(count_of(s.stats, "qps"))};
        for (const char* key : {"tx_frames", "tx_bytes", "rx_frames", "rx_bytes"}) {
            const double value = counter(s.stats, "wire", key);
            const bool bytes = std::string_view(key).ends_with("bytes");
            if (!rates) {
                row.push_back(short_number(value));
            } else {
                const double r =
                    old != nullptr ? rate(value, counter(old->stats, "wire", key), seconds) : 0;
                row.push_back(bytes ? fmt::format("{:.2f}", r * 8 / 1e9) : short_number(r));
            }
        }
        row.push_back(short_number(wire_drops(s.stats)));
        table.add(row);
    }
    return table.empty() ? "no card runs; start one: dingo card start\n" : table.text();
}

std::string plain(const Json& value) {
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_number())
        return value.is_number_float() ? fmt::format("{:.1f}", value.get<double>())
                                       : short_number(value.get<double>());
    return value.is_null() ? "-" : card::json_text(value);
}

bool is_label(const std::string& key) {
    for (const char* label : {"qpn", "remote_qpn", "dest_qpn", "port", "client", "pid"})
        if (key == label)
            return true;
    return false;
}

/// One row a QP: whatever the card tells about it, its number and labels first; counters as rates
/// where there is an older sample. Columns in which all is zero are left out.
std::string qp_table(const Sample& s, const Sample* old) {
    if (!s.stats.contains("qps") || !s.stats["qps"].is_array() || s.stats["qps"].empty())
        return "";
    const auto labels_first = [](const std::string& a, const std::string& b) {
        const auto order = [](const std::string& k) {
            return k == "qpn" ? 0 : k == "type" ? 1 : k == "state" ? 2 : is_label(k) ? 3 : 4;
        };
        return std::pair(order(a), a) < std::pair(order(b), b);
    };
    std::map<std::string, bool, decltype(labels_first)> keys(labels_first);
    std::vector<Json> qps;
    for (const Json& qp : s.stats["qps"])
        qps.push_back(flat(qp));
    for (const Json& qp : qps)
        for (const auto& [key, value] : qp.items())
            keys[key] |= !value.is_number() || value != 0;
    std::vector<std::string> head;
    for (const auto& [key, shown] : keys)
        if (shown)
            head.push_back(key);
    Table table(head);
    const double seconds =
        old != nullptr ? std::chrono::duration<double>(s.time - old->time).count() : 0;
    for (const Json& qp : qps) {
        Json before;
        if (old != nullptr && old->stats.contains("qps") && qp.contains("qpn"))
            for (const Json& other : old->stats["qps"])
                if (other.value("qpn", Json()) == qp["qpn"])
                    before = flat(other);
        std::vector<std::string> row;
        for (const std::string& key : head) {
            const Json value = qp.value(key, Json());
            if (is_label(key) && value.is_number())
                row.push_back(card::json_text(value));
            else if (before.is_object() && value.is_number() && before.contains(key))
                row.push_back(
                    short_number(rate(value.get<double>(), before[key].get<double>(), seconds)) +
                    "/s");
            else
                row.push_back(plain(value));
        }
        table.add(row);
    }
    return fmt::format("\n{}:\n{}", s.name, table.text());
}

/// How fast the clock of a simulated card runs while it has work; between two samples, if there is
/// an older one.
std::string clock_line(const Sample& s, const Sample* old) {
    if (!s.stats.contains("simulation"))
        return "";
    const auto gone = [&](const char* key) {
        return counter(s.stats, "simulation", key) -
               (old != nullptr ? counter(old->stats, "simulation", key) : 0);
    };
    const double busy = gone("busy_ns");
    if (busy <= 0)
        return fmt::format("{}: simulated clock at rest\n", s.name);
    return fmt::format("{}: simulated clock {:.1f} kHz while busy; {} cycles, busy {:.2f} s\n",
                       s.name, 1e6 * gone("clock_cycles") / busy,
                       short_number(gone("clock_cycles")), busy / 1e9);
}

std::string text_of(const std::vector<Sample>& now, const std::vector<Sample>& before) {
    std::string out = card_table(now, before);
    for (const Sample& s : now)
        out += clock_line(s, same_card(before, s.name));
    for (const Sample& s : now) {
        out += qp_table(s, same_card(before, s.name));
        if (counter(s.stats, "wire", "tx_errors") + counter(s.stats, "wire", "tx_no_peer") > 0)
            out += fmt::format("\n{}: frames were lost in sending; {} may say why\n", s.name,
                               (card::run_dir() / s.name / "log").string());
    }
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

int stats(const std::string& name, double every, bool json) {
    std::vector<Sample> now = sample(name);
    if (every <= 0) {
        fmt::print("{}", json ? card::json_text(json_of(now), 2) + "\n" : text_of(now, {}));
        return kSuccess;
    }
    const bool screen = !json && ::isatty(STDOUT_FILENO) != 0;
    for (;;) {
        std::this_thread::sleep_for(std::chrono::duration<double>(every));
        const std::vector<Sample> before = std::move(now);
        now = sample(name);
        if (json)
            fmt::print("{}\n", card::json_text(json_of(now)));  // one line a sample
        else
            fmt::print("{}{}{}", screen ? "\x1b[H\x1b[2J" : "", text_of(now, before),
                       screen ? "" : "\n");
        if (std::fflush(stdout) != 0)
            return kSuccess;  // the reader has gone
    }
}

}  // namespace

void add_stats(CLI::App& app, const Common& common, Action& action) {
    auto* const cmd =
        app.add_subcommand("stats", "Show counters of cards and their QPs")->fallthrough();
    const auto name = std::make_shared<std::string>();
    const auto every = std::make_shared<double>(0);
    cmd->add_option("NAME", *name, "The card (default: all that run)");
    // The card's name may follow --watch: what is no number is taken for it.
    auto* const watch = cmd->add_option_function<std::vector<std::string>>(
        "-w,--watch",
        [=](const std::vector<std::string>& words) {
            *every = 1;
            for (const std::string& word : words) {
                double seconds = 0;
                if (word.empty())
                    continue;
                if (!CLI::detail::lexical_cast(word, seconds))
                    *name = word;
                else if (seconds < 0.05)
                    throw CLI::ValidationError("--watch", "at least 0.05 seconds");
                else
                    *every = seconds;
            }
        },
        "Show rates, again and again (default: every second)");
    watch->type_name("[SECONDS]")->expected(0, 2);
    cmd->callback([=, &common, &action] {
        action = [=, &common] { return stats(*name, *every, common.json); };
    });
}

}  // namespace dingo::tool
