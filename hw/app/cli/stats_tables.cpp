// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/stats_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <strings.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "app/cli/cards.h"
#include "app/cli/error.h"
#include "app/cli/table.h"
#include "base/json_text.h"
#include "base/run_dir.h"
#include "dingo_hw.h"

namespace dingo::cli {
namespace {

constexpr std::size_t kHistory = 120;
constexpr std::size_t kHistoryBars = 24;

#define DINGO_COUNTER_NAME(id, text) text,
constexpr const char* kQpCounters[] = {DINGO_FOR_EACH_QP_COUNTER(DINGO_COUNTER_NAME)};
#undef DINGO_COUNTER_NAME
/// QP counters with a column of their own; the others share one.
constexpr const char* kWithColumn[] = {"tx_bytes", "rx_bytes", "send_cqes", "recv_cqes",
                                       "retransmits"};

double number(const Json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

double counter(const Json& stats, const char* group, const char* key) {
    const auto it = stats.find(group);
    return it != stats.end() && it->is_object() ? number(*it, key) : 0;
}

std::size_t count_of(const Json& stats, const char* key) {
    if (!stats.contains(key))
        return 0;
    if (stats[key].is_number_unsigned())
        return stats[key].get<std::size_t>();
    return stats[key].is_array() ? stats[key].size() : 0;
}

/// Number of frames lost or rejected by the wire or the card, for example damaged ones. Frames for
/// other cards are not included.
double drops(const Json& stats) {
    double sum = counter(stats, "card", "link_down_drops");
    for (const char* key : {"rx_icrc_encapsulated", "rx_drop_malformed", "rx_drop_opcode",
                            "rx_drop_bad_qpn", "rx_drop_qp_state", "rx_drop_address", "bad_pkey",
                            "bad_qkey", "rx_drop_ud_no_buffer", "rx_drop_ud_length", "rx_drop_uc",
                            "rx_drop_response", "rx_drop_duplicate", "rx_port_disabled"})
        sum += counter(stats, "counters", key);
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

double seconds_between(const Sample& now, const Sample* before) {
    return before == nullptr ? 0 : std::chrono::duration<double>(now.time - before->time).count();
}

/// Returns the change per second. A counter that fell belongs to another object by now.
double rate(double now, double before, double seconds) {
    return now < before || seconds <= 0 ? 0 : (now - before) / seconds;
}

/// The numbers of one row: sums, or rates if there is an older sample.
class Numbers {
  public:
    Numbers(bool rates, double seconds) : rates_(rates), seconds_(seconds) {}
    [[nodiscard]] Cell count(double now, double before) const {
        const double value = rates_ ? rate(now, before, seconds_) : now;
        return {short_number(value), value};
    }
    [[nodiscard]] Cell bytes(double now, double before) const {
        if (!rates_)
            return {short_number(now), now};
        const double gbit = rate(now, before, seconds_) * 8 / 1e9;
        return {fmt::format("{:.2f}", gbit), gbit};
    }

  private:
    bool rates_;
    double seconds_;
};

Cell sum_cell(double value) {
    return {short_number(value), value};
}

double messages(const Json& counters) {
    return number(counters, "send_cqes") + number(counters, "recv_cqes");
}

std::vector<Column> card_head(bool rates) {
    std::vector<Column> head{"CARD",
                             rates ? "OUT_GBIT/S" : "OUT_BYTES",
                             rates ? "IN_GBIT/S" : "IN_BYTES",
                             {rates ? "MSG/S" : "MSG", 3},
                             {"RETRANS", 1},
                             {"DROPS", 2}};
    if (rates)
        head.emplace_back("HISTORY", 5);
    for (const char* title : {"LINK", "QPS", "CLIENTS"})
        head.emplace_back(title, 6);
    head.emplace_back(rates ? "OUT_PKT/S" : "OUT_PKT", 7);
    head.emplace_back(rates ? "IN_PKT/S" : "IN_PKT", 7);
    return head;
}

Table card_table(const std::vector<Sample>& now, const std::vector<Sample>& before,
                 const History& history, bool utf8) {
    const bool rates = !before.empty();
    Table table(card_head(rates));
    for (const Sample& s : now) {
        const Sample* const old = same_card(before, s.name);
        const Json none = Json::object();
        const Json& past = old != nullptr ? old->stats : none;
        const Numbers numbers(rates, seconds_between(s, old));
        const auto wire = [&](const char* key) { return counter(s.stats, "wire", key); };
        const auto was = [&](const char* key) { return counter(past, "wire", key); };
        std::vector<Cell> row{s.name,
                              numbers.bytes(wire("tx_bytes"), was("tx_bytes")),
                              numbers.bytes(wire("rx_bytes"), was("rx_bytes")),
                              numbers.count(number(s.stats, "messages"), number(past, "messages")),
                              sum_cell(counter(s.stats, "counters", "retransmits")),
                              sum_cell(drops(s.stats))};
        if (rates)
            row.emplace_back(sparkline(history.of(s.name, kHistoryBars), utf8));
        row.emplace_back(s.stats.value("link", false) ? "up" : "down");
        for (const char* key : {"qps", "clients"})
            row.push_back(sum_cell(static_cast<double>(count_of(s.stats, key))));
        row.push_back(numbers.count(wire("tx_frames"), was("tx_frames")));
        row.push_back(numbers.count(wire("rx_frames"), was("rx_frames")));
        table.add(row);
    }
    return table;
}

std::string state_name(const Json& state) {
    constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    if (!state.is_number_integer())
        return state.is_string() ? state.get<std::string>() : "-";
    const int n = state.get<int>();
    return n >= 0 && n < static_cast<int>(std::size(kNames)) ? kNames[n] : "?";
}

std::string hex(const Json& qp, const char* key) {
    return qp.contains(key) && qp[key].is_number() ? fmt::format("{:#x}", qp[key].get<unsigned>())
                                                   : "-";
}

std::string peer_of(const Json& qp) {
    return qp.contains("peer") && qp["peer"].is_string()
               ? fmt::format("{} {}", qp["peer"].get<std::string>(), hex(qp, "dest_qpn"))
               : "-";
}

/// Returns the counters without a column of their own that are not 0 for all QPs.
std::vector<std::string> further_counters(const Json& qps) {
    std::map<std::string, bool> seen;
    for (const Json& qp : qps)
        if (qp.contains("counters"))
            for (const auto& [key, value] : qp["counters"].items())
                seen[key] |= value != 0;
    for (const char* shown : kWithColumn)
        seen.erase(shown);
    std::vector<std::string> out;
    for (const auto& [key, some] : seen)
        if (some)
            out.push_back(key);
    return out;
}

/// Returns the QP's counters in an older sample, empty if the QP is new.
Json counters_before(const Sample* old, const Json& qp) {
    if (old != nullptr && old->stats.contains("qps"))
        for (const Json& other : old->stats["qps"])
            if (other.value("qpn", Json()) == qp.value("qpn", Json()))
                return other.value("counters", Json::object());
    return Json::object();
}

std::vector<Column> qp_head(bool rates) {
    return {"QPN",
            rates ? "OUT_GBIT/S" : "OUT_BYTES",
            rates ? "IN_GBIT/S" : "IN_BYTES",
            {rates ? "MSG/S" : "MSG", 3},
            {"RETRANS", 1},
            {"PEER", 2},
            {"TYPE", 4},
            {"STATE", 4},
            {"PID", 5}};
}

std::optional<Table> qp_table(const Sample& s, const Sample* old) {
    if (!s.stats.contains("qps") || !s.stats["qps"].is_array() || s.stats["qps"].empty())
        return std::nullopt;
    const bool rates = old != nullptr;
    const auto more = further_counters(s.stats["qps"]);
    std::vector<Column> head = qp_head(rates);
    for (const std::string& key : more)
        head.emplace_back(rates ? key + "/s" : key, 6);
    Table table(head);
    for (const Json& qp : s.stats["qps"]) {
        const Json now = qp.value("counters", Json::object());
        const Json past = counters_before(old, qp);
        const Numbers numbers(rates, seconds_between(s, old));
        std::vector<Cell> row{hex(qp, "qpn"),
                              numbers.bytes(number(now, "tx_bytes"), number(past, "tx_bytes")),
                              numbers.bytes(number(now, "rx_bytes"), number(past, "rx_bytes")),
                              numbers.count(messages(now), messages(past)),
                              sum_cell(number(now, "retransmits")),
                              peer_of(qp),
                              qp.value("type", "-"),
                              state_name(qp.value("state", Json())),
                              fmt::format("{:.0f}", number(qp, "pid"))};
        for (const std::string& key : more)
            row.push_back(numbers.count(number(now, key.c_str()), number(past, key.c_str())));
        table.add(row);
    }
    return table;
}

/// Returns the clock rate of a simulated card while it has work, between two samples if there is an
/// older one.
std::string clock_line(const Sample& s, const Sample* old) {
    if (!s.stats.contains("simulation"))
        return "";
    const auto gone = [&](const char* key) {
        return counter(s.stats, "simulation", key) -
               (old != nullptr ? counter(old->stats, "simulation", key) : 0);
    };
    const double busy = gone("busy_ns");
    if (busy <= 0)
        return fmt::format("{}: simulated clock idle\n", s.name);
    return fmt::format("{}: simulated clock {:.1f} kHz while busy; {} cycles, busy {:.2f} s\n",
                       s.name, 1e6 * gone("clock_cycles") / busy,
                       short_number(gone("clock_cycles")), busy / 1e9);
}

/// Truncates the text to the lines of the terminal; the last line tells how many are missing.
std::string first_lines(const std::string& text, std::size_t most) {
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (most < 3 || lines < most)
        return text;
    std::size_t end = 0;
    for (std::size_t n = 0; n + 2 < most; n++)
        end = text.find('\n', end) + 1;
    return text.substr(0, end) + fmt::format("... {} lines more\n", lines - (most - 2));
}

}  // namespace

void History::add(const std::vector<Sample>& now, const std::vector<Sample>& before) {
    for (const Sample& s : now) {
        const Sample* const old = same_card(before, s.name);
        double bits = 0;
        for (const char* key : {"tx_bytes", "rx_bytes"})
            bits += 8 * rate(counter(s.stats, "wire", key),
                             old != nullptr ? counter(old->stats, "wire", key) : 0,
                             seconds_between(s, old));
        auto& rates = rates_[s.name];
        rates.push_back(bits);
        if (rates.size() > kHistory)
            rates.pop_front();
    }
}

std::vector<double> History::of(const std::string& card, std::size_t most) const {
    const auto it = rates_.find(card);
    if (it == rates_.end())
        return {};
    const auto skip = it->second.size() - std::min(most, it->second.size());
    return {it->second.begin() + static_cast<std::ptrdiff_t>(skip), it->second.end()};
}

void check_sort(const std::string& column, bool rates) {
    std::vector<std::string> names;
    for (const auto& head : {card_head(rates), qp_head(rates)})
        for (const Column& c : head)
            if (std::find(names.begin(), names.end(), c.title) == names.end())
                names.push_back(c.title);
    for (const char* counter : kQpCounters)
        if (std::none_of(std::begin(kWithColumn), std::end(kWithColumn),
                         [&](const char* c) { return std::strcmp(c, counter) == 0; }))
            names.push_back(fmt::format("{}{}", counter, rates ? "/s" : ""));
    const auto is = [&](const std::string& name) {
        return ::strcasecmp(name.c_str(), column.c_str()) == 0;
    };
    if (!column.empty() && std::none_of(names.begin(), names.end(), is))
        throw Error(fmt::format("--sort: no column '{}'{}; there are {}", column,
                                rates ? "" : " without --watch", fmt::join(names, ", ")),
                    kUsage);
}

std::string stats_text(const std::vector<Sample>& now, const std::vector<Sample>& before,
                       const History& history, const StatsView& view) {
    if (now.empty())
        return "no card runs; start one: dingo card start\n";
    Table cards = card_table(now, before, history, view.utf8);
    cards.sort(view.sort);
    std::string out = cards.text(view.width);
    for (const Sample& s : now)
        out += clock_line(s, same_card(before, s.name));
    for (const Sample& s : now) {
        if (auto table = qp_table(s, same_card(before, s.name))) {
            table->sort(view.sort);
            out += fmt::format("\n{}:\n{}", s.name, table->text(view.width));
        }
        if (counter(s.stats, "wire", "tx_errors") + counter(s.stats, "wire", "tx_no_peer") > 0)
            out += fmt::format("\n{}: some frames could not be sent; for the reason see {}\n",
                               s.name, (run_dir() / s.name / "log").string());
    }
    return first_lines(out, view.lines);
}

}  // namespace dingo::cli
