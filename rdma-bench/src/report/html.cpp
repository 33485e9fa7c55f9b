// SPDX-License-Identifier: BSD-2-Clause
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "compare/json.h"
#include "report/json.h"
#include "report/page/page.h"
#include "report/percentiles.h"

namespace rdma_bench::report {
namespace {

using Json = nlohmann::ordered_json;

/// JSON in ASCII in which HTML finds nothing that begins a tag, a comment or an entity.
std::string inert(const Json& value) {
    std::string out;
    for (const char c : value.dump(-1, ' ', true, Json::error_handler_t::replace)) {
        out += c == '<' ? "\\u003c" : c == '&' ? "\\u0026" : std::string(1, c);
    }
    return out;
}

Json run_json(const Run& run) {
    Result shown = run.result;
    for (Entry& entry : shown.entries) {
        entry.samples.clear();  // a million of them, and the histogram has them
    }
    return {{"name", run.name}, {"result", result_json(shown)}};
}

Json compared(const Run& first, const Run& second, const CompareOptions& options) {
    Json out = {{"name", second.name}};
    try {
        out.update(comparison_json(compare(first.result, second.result, options)));
    } catch (const std::invalid_argument& error) {
        out["refused"] = error.what();
    }
    return out;
}

/// The main figures, for browsers that run no script.
std::string plain_text(const Run& run) {
    constexpr double kBitsPerNanosecond = 8 / 1e9;
    const auto number = [](bool told, double value) {
        return told ? fmt::format("{:.2f}", value) : std::string();
    };
    std::string out = fmt::format("{}, {}\n{:>12} {:>5} {:>12} {:>14} {:>12} {:>12}\n",
                                  inert(run.name), to_string(run.result.test), "size, bytes", "QPs",
                                  "Gb/s", "messages/s", "median, us", "99 %, us");
    for (const Entry& e : run.result.entries) {
        const Bandwidth speed = e.bandwidth.value_or(Bandwidth{});
        const auto latency = [&](double percent) {
            const bool told = e.latency && enough_samples(e.latency->count(), percent);
            return number(told, told ? e.latency->percentile(percent) / 1e3 : 0);
        };
        out += fmt::format("{:>12} {:>5} {:>12} {:>14} {:>12} {:>12}\n", e.size, e.qps,
                           number(e.bandwidth.has_value(), speed.average * kBitsPerNanosecond),
                           number(e.bandwidth.has_value(), speed.message_rate), latency(50),
                           latency(99));
    }
    return run.result.error.empty() ? out : out + "ended early: " + inert(run.result.error) + "\n";
}

/// Each mark of `text` replaced, in this order; what is put in is not looked at again.
std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string>> marks) {
    std::string out;
    for (const auto& [mark, value] : marks) {
        const auto at = text.find(mark);
        out.append(text.substr(0, at)).append(value);
        text.remove_prefix(at + mark.size());
    }
    return out.append(text);
}

}  // namespace

std::string to_html(const std::vector<Run>& runs, const CompareOptions& options) {
    Json data = {{"runs", Json::array()}, {"comparisons", Json::array()}};
    std::string tests, text;
    for (const Run& run : runs) {
        data["runs"].push_back(run_json(run));
        if (&run != runs.data()) {
            data["comparisons"].push_back(compared(runs.front(), run, options));
        }
        const std::string test(to_string(run.result.test));
        if (tests.find(test) == std::string::npos) {
            tests += (tests.empty() ? "" : ", ") + test;
        }
        text += plain_text(run);
    }
    return fill(
        kPage, {{"@TESTS@", tests}, {"@TESTS@", tests}, {"@TEXT@", text}, {"@DATA@", inert(data)}});
}

}  // namespace rdma_bench::report
