// SPDX-License-Identifier: BSD-2-Clause
#include "report/html_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "report/counter_table.h"
#include "report/markup.h"
#include "report/percentiles.h"

namespace rdma_bench::report {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kGiga = 1e9;
constexpr double kNanosecondsPerMicrosecond = 1e3;

/// Entries of one run that differ in what the x axis shows only.
struct Group {
    std::string name;
    std::vector<const Entry*> entries;
};

struct Groups {
    PlotAxis x;
    bool by_qps = false;
    std::vector<Group> groups;

    [[nodiscard]] double place(const Entry& entry) const {
        return by_qps ? entry.qps : static_cast<double>(entry.size);
    }
};

Groups group(const std::vector<Run>& runs) {
    std::set<std::uint64_t> sizes;
    std::set<unsigned> qps;
    for (const Run& run : runs) {
        for (const Entry& entry : run.result.entries) {
            sizes.insert(entry.size);
            qps.insert(entry.qps);
        }
    }
    Groups out;
    out.by_qps = sizes.size() == 1 && qps.size() > 1;
    out.x = out.by_qps ? PlotAxis{"queue pairs", Scale::kLog2, Unit::kPlain}
                       : PlotAxis{"message size", Scale::kLog2, Unit::kBytes};
    for (const Run& run : runs) {
        std::map<std::uint64_t, Group> parts;
        for (const Entry& entry : run.result.entries) {
            const std::uint64_t key = out.by_qps ? entry.size : entry.qps;
            Group& part = parts[key];
            if (part.name.empty()) {
                part.name = runs.size() > 1 ? run.name : "";
                if (!out.by_qps && qps.size() > 1) {
                    part.name += fmt::format("{}{} QP{}", part.name.empty() ? "" : ", ", entry.qps,
                                             entry.qps == 1 ? "" : "s");
                }
                if (part.name.empty()) {
                    part.name = std::string(to_string(run.result.test));
                }
            }
            part.entries.push_back(&entry);
        }
        for (auto& [key, part] : parts) {
            std::stable_sort(
                part.entries.begin(), part.entries.end(),
                [&](const Entry* a, const Entry* b) { return out.place(*a) < out.place(*b); });
            out.groups.push_back(std::move(part));
        }
    }
    return out;
}

using Figure = std::function<double(const Entry&)>;

/// A line of `figure` over the entries for which it is a number.
Series line(const Groups& groups, const Group& part, const std::string& name, int look,
            const Figure& figure) {
    Series series{name, {}, look};
    for (const Entry* entry : part.entries) {
        if (const double y = figure(*entry); std::isfinite(y)) {
            series.points.push_back({groups.place(*entry), y});
        }
    }
    return series;
}

/// "Highest: 93.2 Gb/s at 64 KiB" and the like, for readers that cannot see the picture.
std::string describe(const Plot& plot, bool highest) {
    const Series* best_series = nullptr;
    Point best{};
    for (const Series& series : plot.series) {
        for (const Point& point : series.points) {
            if (best_series == nullptr || (highest ? point.y > best.y : point.y < best.y)) {
                best_series = &series;
                best = point;
            }
        }
    }
    if (best_series == nullptr) {
        return plot.title;
    }
    return fmt::format("{} against {}, {} line(s). {}: {} at {} ({}).", plot.title, plot.x.title,
                       plot.series.size(), highest ? "Highest" : "Lowest",
                       format_value(plot.y.unit, best.y), format_value(plot.x.unit, best.x),
                       best_series->name);
}

Plot figure_plot(const Groups& groups, const char* id, const char* title, PlotAxis y,
                 const Figure& figure) {
    Plot plot;
    plot.id = id;
    plot.title = title;
    plot.x = groups.x;
    plot.y = std::move(y);
    for (std::size_t i = 0; i < groups.groups.size(); ++i) {
        plot.series.push_back(
            line(groups, groups.groups[i], groups.groups[i].name, static_cast<int>(i), figure));
    }
    plot.description = describe(plot, true);
    return plot;
}

double percentile_us(const Entry& entry, double percent) {
    // Above what the samples can tell every percentile is the same as the maximum.
    const bool told = entry.latency && enough_samples(entry.latency->count(), percent);
    return told ? entry.latency->percentile(percent) / kNanosecondsPerMicrosecond : std::nan("");
}

Plot latency_plot(const Groups& groups) {
    Plot plot;
    plot.id = "latency";
    plot.title = "Latency";
    plot.x = groups.x;
    plot.y = {"latency", Scale::kLog10, Unit::kMicroseconds};
    // One run has room for its percentiles; several are easier to tell apart with fewer lines.
    std::vector<Percentile> shown{{50, "median"}};
    if (groups.groups.size() == 1) {
        shown = {{50, "median"},   {90, "90 %"},       {99, "99 %"},
                 {99.9, "99.9 %"}, {99.99, "99.99 %"}, {99.999, "99.999 %"}};
    } else if (groups.groups.size() <= 4) {
        shown.push_back({99, "99 %"});
    }
    for (std::size_t p = 0; p < shown.size(); ++p) {
        for (std::size_t i = 0; i < groups.groups.size(); ++i) {
            const bool alone = groups.groups.size() == 1;
            const std::string name =
                alone ? shown[p].name : fmt::format("{}, {}", groups.groups[i].name, shown[p].name);
            // The looks from 4 on are dashed: the tail of the line with the same marker.
            const auto look = static_cast<int>(alone ? p : i + p * 4);
            plot.series.push_back(line(groups, groups.groups[i], name, look, [&](const Entry& e) {
                return percentile_us(e, shown[p].percent);
            }));
        }
    }
    std::erase_if(plot.series, [](const Series& series) { return series.points.empty(); });
    plot.description = describe(plot, false);
    return plot;
}

constexpr std::size_t kMostDistributions = 6;
constexpr std::uint64_t kFewestSamples = 20;

/// Entries with enough samples, spread evenly over those that there are.
std::vector<std::pair<std::string, const Entry*>> distributions(const std::vector<Run>& runs) {
    std::vector<std::pair<std::string, const Entry*>> all;
    std::set<unsigned> qps;
    for (const Run& run : runs) {
        for (const Entry& entry : run.result.entries) {
            qps.insert(entry.qps);
        }
    }
    const std::size_t each =
        std::max<std::size_t>(1, kMostDistributions / std::max<std::size_t>(1, runs.size()));
    for (const Run& run : runs) {
        std::vector<const Entry*> entries;
        for (const Entry& entry : run.result.entries) {
            if (entry.latency && entry.latency->count() >= kFewestSamples) {
                entries.push_back(&entry);
            }
        }
        const std::size_t take = std::min(each, entries.size());
        for (std::size_t i = 0; i < take; ++i) {
            const Entry* entry = entries[take == 1 ? 0 : i * (entries.size() - 1) / (take - 1)];
            std::string name = format_bytes(static_cast<double>(entry->size));
            if (qps.size() > 1) {
                name += fmt::format(", {} QP{}", entry->qps, entry->qps == 1 ? "" : "s");
            }
            if (runs.size() > 1) {
                name.insert(0, run.name + ", ");
            }
            all.emplace_back(std::move(name), entry);
        }
    }
    if (all.size() > kLooks) {
        all.resize(kLooks);
    }
    return all;
}

Series percentile_series(const std::string& name, const Histogram& histogram, int look) {
    constexpr std::array kPercents{0.0,  10.0, 25.0,  50.0,  75.0,   90.0,   95.0,    99.0,
                                   99.5, 99.9, 99.95, 99.99, 99.995, 99.999, 99.9995, 99.9999};
    Series series{name, {}, look};
    const auto samples = static_cast<double>(histogram.count());
    for (const double percent : kPercents) {
        if (percent == 0) {
            series.points.push_back({0, histogram.min() / kNanosecondsPerMicrosecond});
        } else if (samples * (100 - percent) >= 99.999) {
            series.points.push_back(
                {percent, histogram.percentile(percent) / kNanosecondsPerMicrosecond});
        }
    }
    // The slowest of N samples stands where 1 in N is slower.
    series.points.push_back(
        {100 * (1 - 0.5 / samples), histogram.max() / kNanosecondsPerMicrosecond});
    return series;
}

Series histogram_series(const std::string& name, const Histogram& histogram, int look) {
    constexpr double kBin = 1.08;  // each bin is 8 % wider than the one before
    std::map<int, std::uint64_t> bins;
    for (const Histogram::Bucket& bucket : histogram.buckets()) {
        const double middle = (bucket.from + bucket.to) / 2 / kNanosecondsPerMicrosecond;
        bins[static_cast<int>(std::floor(std::log(middle) / std::log(kBin)))] += bucket.count;
    }
    Series series{name, {}, look, true, false};
    const auto edge = [&](int bin) { return std::pow(kBin, bin); };
    int next = bins.begin()->first;
    series.points.push_back({edge(next), 0});
    for (const auto& [bin, count] : bins) {
        if (bin != next) {
            series.points.push_back({edge(next), 0});
        }
        series.points.push_back(
            {edge(bin), 100 * static_cast<double>(count) / static_cast<double>(histogram.count())});
        next = bin + 1;
    }
    series.points.push_back({edge(next), 0});
    return series;
}

}  // namespace

std::vector<Plot> overview_plots(const std::vector<Run>& runs) {
    const Groups groups = group(runs);
    std::vector<Plot> plots;
    plots.push_back(figure_plot(
        groups, "bandwidth", "Bandwidth", {"bandwidth, Gb/s", Scale::kLinear, Unit::kGigabits},
        [](const Entry& e) {
            return e.bandwidth ? e.bandwidth->average * kBitsPerByte / kGiga : std::nan("");
        }));
    plots.push_back(figure_plot(
        groups, "message-rate", "Message rate",
        {"messages per second", Scale::kLog10, Unit::kCount},
        [](const Entry& e) { return e.bandwidth ? e.bandwidth->message_rate : std::nan(""); }));
    plots.push_back(latency_plot(groups));
    return plots;
}

Plot series_plot(const std::vector<Run>& runs) {
    Plot plot;
    plot.id = "series";
    plot.title = "Throughput over time";
    plot.x = {"seconds", Scale::kLinear, Unit::kPlain};
    const bool bandwidth = std::any_of(runs.begin(), runs.end(),
                                       [](const Run& run) { return !run.result.test.latency(); });
    plot.y = bandwidth ? PlotAxis{"bandwidth, Gb/s", Scale::kLinear, Unit::kGigabits}
                       : PlotAxis{"messages per second", Scale::kLinear, Unit::kCount};
    for (const Run& run : runs) {
        for (const Entry& entry : run.result.entries) {
            if (entry.series.empty() || plot.series.size() == kLooks) {
                continue;
            }
            Series series{(runs.size() > 1 ? run.name + ", " : "") + entry_name(run.result, entry),
                          {},
                          static_cast<int>(plot.series.size()),
                          false,
                          false};
            double from = 0;
            for (const SeriesPoint& point : entry.series) {
                const auto messages = static_cast<double>(point.messages);
                const double rate = messages / (point.seconds - from);
                const double bits = rate * static_cast<double>(entry.size) * kBitsPerByte / kGiga;
                series.points.push_back({point.seconds, bandwidth ? bits : rate});
                from = point.seconds;
            }
            plot.series.push_back(std::move(series));
        }
    }
    plot.description = describe(plot, true);
    return plot;
}

std::vector<Plot> distribution_plots(const std::vector<Run>& runs) {
    Plot percentiles;
    percentiles.id = "percentiles";
    percentiles.title = "Latency by percentile";
    percentiles.x = {"percentile", Scale::kNines, Unit::kPercent};
    percentiles.y = {"latency", Scale::kLog10, Unit::kMicroseconds};
    Plot shares;
    shares.id = "shares";
    shares.title = "Distribution of latencies";
    shares.x = {"latency", Scale::kLog10, Unit::kMicroseconds};
    shares.y = {"% of the messages", Scale::kLinear, Unit::kPercent};
    int look = 0;
    for (const auto& [name, entry] : distributions(runs)) {
        percentiles.series.push_back(percentile_series(name, *entry->latency, look));
        shares.series.push_back(histogram_series(name, *entry->latency, look));
        ++look;
    }
    percentiles.description = describe(percentiles, true);
    shares.description = describe(shares, true);
    return {percentiles, shares};
}

}  // namespace rdma_bench::report
