// SPDX-License-Identifier: BSD-2-Clause
#include "report/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/json.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::ordered_json;

struct Column {
    const char* name;
    const char* place;  ///< in the JSON of the run, or of the entry
};

constexpr Column kOfTheRun[] = {
    {"test", "/test"},
    {"side", "/side"},
    {"local_host", "/local/name"},
    {"local_device", "/local/device/name"},
    {"peer_host", "/peer/name"},
    {"peer_device", "/peer/device/name"},
};

constexpr Column kOfTheEntry[] = {
    {"started_utc", "/started_utc"},
    {"size_bytes", "/size_bytes"},
    {"qps", "/qps"},
    {"threads", "/threads"},
    {"iterations", "/iterations"},
    {"payload_bytes", "/payload_bytes"},
    {"duration_seconds", "/seconds"},
    {"partial", "/partial"},
    {"bandwidth_average_bytes_per_second", "/bandwidth/average_bytes_per_second"},
    {"bandwidth_peak_bytes_per_second", "/bandwidth/peak_bytes_per_second"},
    {"messages_per_second", "/bandwidth/messages_per_second"},
    {"latency_samples", "/latency/samples"},
    {"latency_min_us", "/latency/min_us"},
    {"latency_mean_us", "/latency/mean_us"},
    {"latency_stdev_us", "/latency/stdev_us"},
    {"latency_max_us", "/latency/max_us"},
    {"latency_p50_us", "/latency/percentiles_us/50"},
    {"latency_p90_us", "/latency/percentiles_us/90"},
    {"latency_p95_us", "/latency/percentiles_us/95"},
    {"latency_p99_us", "/latency/percentiles_us/99"},
    {"latency_p99.9_us", "/latency/percentiles_us/99.9"},
    {"latency_p99.99_us", "/latency/percentiles_us/99.99"},
    {"latency_p99.999_us", "/latency/percentiles_us/99.999"},
    {"cpu_user_seconds", "/cpu/user_seconds"},
    {"cpu_system_seconds", "/cpu/system_seconds"},
    {"cpu_instructions", "/cpu/instructions"},
    {"verified_messages", "/verification/messages"},
    {"wrong_messages", "/verification/wrong_messages"},
    {"lost_messages", "/verification/lost_messages"},
    {"rate_wanted_messages_per_second", "/rate/wanted_messages_per_second"},
    {"rate_reached_messages_per_second", "/rate/reached_messages_per_second"},
    {"late_messages", "/rate/late_messages"},
};

/// Empty where there is no such value.
std::string cell(const Json& json, const char* place) {
    const Json::json_pointer at(place);
    const Json value = json.contains(at) ? json.at(at) : Json(nullptr);
    if (value.is_string()) {
        return csv_text(value.get<std::string>());
    }
    if (value.is_boolean()) {
        return value.get<bool>() ? "1" : "0";
    }
    if (value.is_number_float()) {
        const auto number = value.get<double>();
        return std::isfinite(number) ? fmt::format("{}", number) : std::string();
    }
    return value.is_null() ? std::string() : value.dump();
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
    std::vector<std::string> cells, of_the_run;
    const Json run = result_json(result);
    for (const Column& column : kOfTheRun) {
        cells.emplace_back(column.name);
        of_the_run.push_back(cell(run, column.place));
    }
    for (const Column& column : kOfTheEntry) {
        cells.emplace_back(column.name);
    }
    std::string out = join(cells);
    for (const Json& entry : run["entries"]) {
        cells = of_the_run;
        for (const Column& column : kOfTheEntry) {
            cells.push_back(cell(entry, column.place));
        }
        out += join(cells);
    }
    return out;
}

}  // namespace rdma_bench::report
