// SPDX-License-Identifier: BSD-2-Clause
#include "report/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "report/percentiles.h"

namespace rdma_bench::report {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1e3;

std::string real(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string{};
}

struct Column {
    std::string name;
    std::string (*cell)(const Result&, const Entry&);
};

std::string microseconds(const Entry& e, double (Histogram::*what)() const) {
    return e.latency ? real(((*e.latency).*what)() / kNanosecondsPerMicrosecond) : std::string{};
}

const std::vector<Column>& columns() {
    using R = Result;
    using E = Entry;
    static const std::vector<Column> kColumns{
        {"test", [](const R& r, const E&) { return csv_text(to_string(r.test)); }},
        {"side", [](const R& r, const E&) { return std::string(r.client ? "client" : "server"); }},
        {"local_host", [](const R& r, const E&) { return csv_text(r.local.name); }},
        {"local_device", [](const R& r, const E&) { return csv_text(r.local.device.name); }},
        {"peer_host", [](const R& r, const E&) { return csv_text(r.peer.name); }},
        {"peer_device", [](const R& r, const E&) { return csv_text(r.peer.device.name); }},
        {"started_utc", [](const R&, const E& e) { return csv_text(e.started); }},
        {"size_bytes", [](const R&, const E& e) { return fmt::format("{}", e.size); }},
        {"qps", [](const R&, const E& e) { return fmt::format("{}", e.qps); }},
        {"threads", [](const R&, const E& e) { return fmt::format("{}", e.threads); }},
        {"iterations", [](const R&, const E& e) { return fmt::format("{}", e.iterations); }},
        {"payload_bytes", [](const R&, const E& e) { return fmt::format("{}", e.bytes); }},
        {"duration_seconds", [](const R&, const E& e) { return real(e.seconds); }},
        {"partial", [](const R&, const E& e) { return std::string(e.partial ? "1" : "0"); }},
        {"bandwidth_average_bytes_per_second",
         [](const R&, const E& e) { return e.bandwidth ? real(e.bandwidth->average) : ""; }},
        {"bandwidth_peak_bytes_per_second",
         [](const R&, const E& e) {
             return e.bandwidth && e.bandwidth->peak > 0 ? real(e.bandwidth->peak) : "";
         }},
        {"messages_per_second",
         [](const R&, const E& e) { return e.bandwidth ? real(e.bandwidth->message_rate) : ""; }},
        {"latency_samples",
         [](const R&, const E& e) {
             return e.latency ? fmt::format("{}", e.latency->count()) : "";
         }},
        {"latency_min_us", [](const R&, const E& e) { return microseconds(e, &Histogram::min); }},
        {"latency_mean_us", [](const R&, const E& e) { return microseconds(e, &Histogram::mean); }},
        {"latency_stdev_us",
         [](const R&, const E& e) { return microseconds(e, &Histogram::stdev); }},
        {"latency_max_us", [](const R&, const E& e) { return microseconds(e, &Histogram::max); }},
    };
    return kColumns;
}

const std::vector<Column>& last_columns() {
    using R = Result;
    using E = Entry;
    static const std::vector<Column> kColumns{
        {"cpu_user_seconds", [](const R&, const E& e) { return real(e.cpu.user_seconds); }},
        {"cpu_system_seconds", [](const R&, const E& e) { return real(e.cpu.system_seconds); }},
        {"cpu_instructions",
         [](const R&, const E& e) {
             return e.cpu.instructions ? fmt::format("{}", *e.cpu.instructions) : "";
         }},
        {"verified_messages",
         [](const R&, const E& e) {
             return e.verification ? fmt::format("{}", e.verification->messages) : "";
         }},
        {"wrong_messages",
         [](const R&, const E& e) {
             return e.verification ? fmt::format("{}", e.verification->wrong) : "";
         }},
        {"lost_messages",
         [](const R&, const E& e) {
             return e.verification ? fmt::format("{}", e.verification->lost) : "";
         }},
        {"rate_wanted_messages_per_second",
         [](const R&, const E& e) { return e.rate ? real(e.rate->wanted) : ""; }},
        {"rate_reached_messages_per_second",
         [](const R&, const E& e) { return e.rate ? real(e.rate->reached) : ""; }},
        {"late_messages",
         [](const R&, const E& e) { return e.rate ? fmt::format("{}", e.rate->late) : ""; }},
    };
    return kColumns;
}

std::string join(const std::vector<std::string>& cells) {
    return fmt::format("{}\r\n", fmt::join(cells, ","));
}

}  // namespace

std::string csv_text(std::string_view text) {
    std::string out(text);
    if (!out.empty() && std::string_view("=+-@\t\r").find(out.front()) != std::string_view::npos) {
        out.insert(out.begin(), '\'');
    }
    if (out.find_first_of(",\"\r\n") == std::string::npos) {
        return out;
    }
    std::string quoted = "\"";
    for (const char c : out) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + '"';
}

std::string to_csv(const Result& result) {
    std::vector<std::string> cells;
    for (const Column& column : columns()) {
        cells.push_back(column.name);
    }
    for (const Percentile& p : kPercentiles) {
        cells.push_back(std::string("latency_p") + p.name + "_us");
    }
    for (const Column& column : last_columns()) {
        cells.push_back(column.name);
    }
    std::string out = join(cells);
    for (const Entry& entry : result.entries) {
        cells.clear();
        for (const Column& column : columns()) {
            cells.push_back(column.cell(result, entry));
        }
        for (const Percentile& p : kPercentiles) {
            const bool told = entry.latency && enough_samples(entry.latency->count(), p.percent);
            cells.push_back(
                told ? real(entry.latency->percentile(p.percent) / kNanosecondsPerMicrosecond)
                     : std::string{});
        }
        for (const Column& column : last_columns()) {
            cells.push_back(column.cell(result, entry));
        }
        out += join(cells);
    }
    return out;
}

}  // namespace rdma_bench::report
