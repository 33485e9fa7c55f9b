// SPDX-License-Identifier: BSD-2-Clause
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "compare/compare.h"
#include "compare/table.h"
#include "report/html_plots.h"
#include "report/html_tables.h"
#include "report/markup.h"
#include "report/page.h"

namespace rdma_bench::report {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kGiga = 1e9;
constexpr double kNanosecondsPerMicrosecond = 1e3;

std::string at(const Entry& entry) {
    return fmt::format("{}{}", format_bytes(static_cast<double>(entry.size)),
                       entry.qps > 1 ? fmt::format(" and {} QPs", entry.qps) : "");
}

/// The result in a few sentences, above the plots.
std::string summary(const Run& run) {
    const Result& result = run.result;
    const Entry* fastest = nullptr;
    const Entry* quickest = nullptr;
    std::uint64_t wrong = 0;
    std::uint64_t checked = 0;
    for (const Entry& entry : result.entries) {
        if (entry.bandwidth &&
            (fastest == nullptr || entry.bandwidth->average > fastest->bandwidth->average)) {
            fastest = &entry;
        }
        if (entry.latency && entry.latency->count() > 0 &&
            (quickest == nullptr || entry.latency->typical() < quickest->latency->typical())) {
            quickest = &entry;
        }
        if (entry.verification) {
            checked += entry.verification->messages;
            wrong += entry.verification->wrong;
        }
    }
    const auto side = [](const HostFacts& host) {
        return fmt::format("{} ({})", host.name, host.device.name);
    };
    const std::string clients = result.clients.empty()
                                    ? side(result.client ? result.local : result.peer)
                                    : fmt::format("{} clients", result.clients.size());
    std::string text = fmt::format(
        "{}{} from {} to {}, {}.", run.name.empty() ? "" : run.name + ": ", to_string(result.test),
        clients, side(result.client ? result.peer : result.local), result.started);
    if (fastest != nullptr) {
        text += fmt::format(" Up to {} Gb/s with {}.",
                            three_digits(fastest->bandwidth->average * kBitsPerByte / kGiga),
                            at(*fastest));
    }
    if (quickest != nullptr) {
        text += fmt::format(
            " Latency from {} (median, with {}).",
            format_microseconds(quickest->latency->typical() / kNanosecondsPerMicrosecond),
            at(*quickest));
    }
    if (checked > 0) {
        text +=
            wrong == 0
                ? fmt::format(" All {} messages that were checked had the right content.", checked)
                : fmt::format(" {} of {} messages that were checked had wrong content!", wrong,
                              checked);
    }
    if (!result.error.empty()) {
        text += " The run ended early: " + result.error;
    }
    return paragraph(text);
}

/// One run against the first.
std::string comparison(const Run& first, const Run& second, double threshold, bool paired,
                       std::optional<double> single, std::vector<Plot>& plots) {
    Comparison result;
    try {
        result = compare(first.result, second.result, {threshold, false, single, paired});
    } catch (const std::invalid_argument& error) {
        return paragraph(second.name + " is not compared with " + first.name + ": " + error.what() +
                         ".");
    }
    Table table;
    table.caption = fmt::format("{} against {}", second.name, first.name);
    table.head = {"figure",    "size",   "QPs",         first.name,
                  second.name, "change", "interval, %", "verdict"};
    for (const Figure& f : result.figures) {
        table.rows.push_back({f.name, format_bytes(static_cast<double>(f.size)),
                              fmt::format("{}", f.qps), format_figure(f, f.first),
                              format_figure(f, f.second), format_change(f), format_interval(f),
                              std::string(to_string(f.verdict))});
        table.marks.push_back(f.verdict == Verdict::kWorse    ? "worse"
                              : f.verdict == Verdict::kBetter ? "better"
                                                              : "");
        auto plot = std::find_if(plots.begin(), plots.end(),
                                 [&](const Plot& p) { return p.title == "Ratio of " + f.name; });
        if (plot == plots.end()) {
            Plot fresh;
            fresh.id = fmt::format("ratio-{}", plots.size());
            fresh.title = "Ratio of " + f.name;
            fresh.description =
                fmt::format("{} of the other runs divided by that of {}; {} is better.", f.name,
                            first.name, f.higher_is_better ? "more" : "less");
            fresh.x = {"message size", Scale::kLog2, Unit::kBytes};
            fresh.y = {fmt::format("ratio to the first; {} is better",
                                   f.higher_is_better ? "more" : "less"),
                       Scale::kLinear, Unit::kRatio};
            fresh.reference = 1;
            plot = plots.insert(plots.end(), fresh);
        }
        const std::string name =
            f.qps > 1 ? fmt::format("{}, {} QPs", second.name, f.qps) : second.name;
        auto series = std::find_if(plot->series.begin(), plot->series.end(),
                                   [&](const Series& s) { return s.name == name; });
        if (series == plot->series.end()) {
            series = plot->series.insert(plot->series.end(),
                                         {name, {}, static_cast<int>(plot->series.size()) + 1});
        }
        series->points.push_back({static_cast<double>(f.size), f.ratio()});
    }
    std::string out = render(table) + paragraph("Judged " + result.ground + ".");
    for (const std::string& failure : result.failures) {
        out += paragraph("Failed: " + failure);
    }
    return out;
}

std::string comparisons(const std::vector<Run>& runs, double threshold, bool paired,
                        std::optional<double> single) {
    std::vector<Plot> plots;
    std::string tables;
    for (std::size_t i = 1; i < runs.size(); ++i) {
        tables += comparison(runs.front(), runs[i], threshold, paired, single, plots);
    }
    return render(plots) + tables;
}

std::string title(const std::vector<Run>& runs) {
    std::string out = "rdma-bench";
    std::string last;
    for (const Run& run : runs) {
        const std::string test(to_string(run.result.test));
        if (test != last) {
            out += (last.empty() ? ": " : ", ") + test;
            last = test;
        }
    }
    return out;
}

}  // namespace

std::string to_html(const std::vector<Run>& runs, double threshold, bool paired,
                    std::optional<double> single) {
    std::string body;
    for (const Run& run : runs) {
        body += summary(runs.size() > 1 ? run : Run{"", run.result});
    }
    const std::string overview = render(overview_plots(runs));
    body += overview.empty() ? paragraph("Nothing was measured.") : heading("Overview") + overview;
    if (runs.size() > 1) {
        body += heading("Comparison") + comparisons(runs, threshold, paired, single);
    }
    if (const std::string plot = render({series_plot(runs)}); !plot.empty()) {
        body += heading("Over time") + plot;
    }
    if (const std::string plots = render(distribution_plots(runs)); !plots.empty()) {
        body += heading("Latency distribution") + plots;
    }
    body += heading("Results");
    for (const Run& run : runs) {
        Table table = results_table(run);
        table.caption = runs.size() > 1 ? run.name : "";
        body += render(table);
    }
    std::string clients;
    for (const Run& run : runs) {
        Table table = clients_table(run);
        table.caption = runs.size() > 1 ? run.name : "";
        clients += table.rows.empty() ? "" : render(table);
    }
    body += clients.empty() ? "" : heading("Clients") + clients;
    std::string counters;
    for (const Run& run : runs) {
        Table table = counters_table(run);
        table.caption = runs.size() > 1 ? run.name : "";
        counters += table.rows.empty() ? "" : render(table);
    }
    body += counters.empty() ? "" : heading("Counters that moved") + counters;
    body += heading("Settings") + render(parameters_table(runs));
    body += heading("Machines") + render(machines_table(runs));
    for (const Run& run : runs) {
        body += paragraph(fmt::format(
            "{}{}Made by rdma-bench {}. Exchange of addresses and keys: {}.",
            runs.size() > 1 ? run.name : "", runs.size() > 1 ? ": " : "", run.result.version,
            run.result.security.empty() ? "not told" : run.result.security));
    }
    return page(title(runs), body);
}

}  // namespace rdma_bench::report
