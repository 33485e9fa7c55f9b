// SPDX-License-Identifier: BSD-2-Clause
#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "report/format.h"

namespace rdma_bench {
namespace {

constexpr double kTail = 99;

Verdict judge(const Figure& figure, double threshold) {
    const double gain = figure.higher_is_better ? figure.ratio() : 1 / figure.ratio();
    if (gain < 1 - threshold) {
        return Verdict::kWorse;
    }
    return gain > 1 + threshold ? Verdict::kBetter : Verdict::kSame;
}

/// Judges by the interval of the ratio: a difference needs all of it on one side of 1, kSame all of
/// it within the threshold.
Verdict judge_interval(const Figure& figure, double threshold) {
    const Spread& s = *figure.interval;
    if (!s.decides()) {
        return Verdict::kUnclear;
    }
    const bool differs = s.low > 1 || s.high < 1;
    const bool within = s.low >= 1 - threshold && s.high <= 1 / (1 - threshold);
    if (differs) {
        return judge(figure, threshold);
    }
    return within ? Verdict::kSame : Verdict::kUnclear;
}

std::vector<double> values(const Entry& entry, double Repeat::*value) {
    std::vector<double> all;
    for (const Repeat& repeat : entry.repeats) {
        if (repeat.*value > 0) {
            all.push_back(repeat.*value);
        }
    }
    return all;
}

/// Returns the interval of second / first. Paired: that of the pairs' ratios. Else it is computed
/// from the ends of both intervals, so it may be too wide but never too narrow.
std::optional<Spread> ratio_interval(const std::vector<double>& first,
                                     const std::vector<double>& second, bool paired) {
    if (first.size() < 2 || second.size() < 2) {
        return std::nullopt;
    }
    if (paired && first.size() == second.size()) {
        std::vector<double> ratios;
        for (std::size_t i = 0; i < first.size(); ++i) {
            ratios.push_back(second[i] / first[i]);
        }
        return spread_of(std::move(ratios));
    }
    const Spread a = spread_of(first), b = spread_of(second);
    Spread ratio;
    ratio.count = std::min(a.count, b.count);
    ratio.median = b.median / a.median;
    ratio.low = b.low / a.high;
    ratio.high = b.high / a.low;
    ratio.confidence = std::min(a.confidence, b.confidence);
    return ratio;
}

class Matcher {
  public:
    Matcher(const CompareOptions& options, Comparison& out) : options_(options), out_(out) {}

    void match(const Entry& first, const Entry& second) {
        const auto speed = [](const Entry& e) { return e.bandwidth ? e.bandwidth->average : 0; };
        const auto middle = [](const Entry& e) { return e.latency ? e.latency->typical() : 0; };
        const auto tail = [](const Entry& e) {
            return e.latency ? e.latency->percentile(kTail) : 0;
        };
        add({"bandwidth", &Repeat::bandwidth, true, true}, first, second, speed);
        add({"median latency", &Repeat::median, false, true}, first, second, middle);
        add({"99th percentile", &Repeat::tail, false, options_.tail}, first, second, tail);
        const auto wrong = [](const Entry& e) { return e.verification && !e.verification->ok(); };
        if (wrong(second) && !wrong(first)) {
            out_.failures.push_back(
                fmt::format("{} with {} QP(s): {} wrong message(s): {}",
                            report::format_bytes(static_cast<double>(second.size)), second.qps,
                            second.verification->wrong, second.verification->first));
        }
    }

    [[nodiscard]] std::string ground() const {
        const std::string threshold = report::three_digits(options_.threshold * 100) + " %";
        if (few_ > 0) {
            return fmt::format(
                "{} repeats are too few to decide anything: --repeat {} or more gives confidence "
                "intervals of 95 %",
                few_, kFewestRepeats);
        }
        if (!single_) {
            return fmt::format(
                "by confidence intervals of the ratio, 95 % or more each{}; a difference within {} "
                "counts as the same",
                options_.paired ? ", of pairs" : "", threshold);
        }
        return fmt::format(
            "by single runs, whose scatter is unknown, and a threshold of {} %: --repeat {} in "
            "both "
            "gives confidence intervals",
            report::three_digits(options_.single.value_or(options_.threshold) * 100),
            kFewestRepeats);
    }

  private:
    struct Kind {
        const char* name;
        double Repeat::*value;
        bool higher, judged;
    };

    template <typename Plain>
    void add(const Kind& kind, const Entry& first, const Entry& second, Plain plain) {
        const auto a = values(first, kind.value), b = values(second, kind.value);
        const double one = a.empty() ? plain(first) : spread_of(a).median;
        const double other = b.empty() ? plain(second) : spread_of(b).median;
        // Skip values that were not measured.
        if (!(one > 0) || !(other > 0) || !std::isfinite(one) || !std::isfinite(other)) {
            return;
        }
        Figure figure{first.size, first.qps,   kind.name,          one,
                      other,      kind.higher, Verdict::kNotJudged};
        figure.interval = ratio_interval(a, b, options_.paired);
        if (kind.judged) {
            single_ = single_ || !figure.interval;
            if (figure.interval && !figure.interval->decides()) {
                few_ = figure.interval->count;
            }
            figure.verdict = figure.interval
                                 ? judge_interval(figure, options_.threshold)
                                 : judge(figure, options_.single.value_or(options_.threshold));
        }
        out_.figures.push_back(std::move(figure));
    }

    CompareOptions options_;
    Comparison& out_;
    bool single_ = false;
    std::size_t few_ = 0;
};

/// Returns the entry of `other` that was measured like `entry` of `own`. If several have the same
/// size and number of QPs, they match in their order.
const Entry* find(const Result& other, const Result& own, const Entry& entry) {
    const auto alike = [&](const Entry& e) { return e.size == entry.size && e.qps == entry.qps; };
    auto before = std::count_if(own.entries.data(), &entry, alike);
    const auto found = std::find_if(other.entries.begin(), other.entries.end(),
                                    [&](const Entry& e) { return alike(e) && before-- == 0; });
    return found == other.entries.end() ? nullptr : &*found;
}

void remark_parameters(const Result& first, const Result& second, Comparison& out) {
    for (const Parameter& mine : first.parameters) {
        const auto other = std::find_if(second.parameters.begin(), second.parameters.end(),
                                        [&](const Parameter& p) { return p.name == mine.name; });
        const std::string value = other == second.parameters.end() ? "not set" : other->value;
        if (value != mine.value) {
            out.remarks.push_back(fmt::format("{}: {} and {}", mine.name, mine.value, value));
        }
    }
    const auto device = [&](const HostFacts& a, const HostFacts& b, const char* side) {
        if (a.device.name != b.device.name || a.name != b.name) {
            out.remarks.push_back(fmt::format("{}: {} on {}, and {} on {}", side, a.device.name,
                                              a.name, b.device.name, b.name));
        }
    };
    device(first.local, second.local, first.client ? "client" : "server");
    device(first.peer, second.peer, first.client ? "server" : "client");
}

void remark_missing(const Result& in, const Result& from, const char* which, Comparison& out) {
    for (const Entry& entry : in.entries) {
        if (find(from, in, entry) == nullptr) {
            out.remarks.push_back(fmt::format("{} with {} QP(s): only in the {}",
                                              report::format_bytes(static_cast<double>(entry.size)),
                                              entry.qps, which));
        }
    }
}

}  // namespace

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::kSame:
            return "same";
        case Verdict::kBetter:
            return "better";
        case Verdict::kWorse:
            return "worse";
        case Verdict::kUnclear:
            return "unclear";
        case Verdict::kNotJudged:
            break;
    }
    return "";
}

bool Comparison::worse() const {
    return !failures.empty() || std::any_of(figures.begin(), figures.end(), [](const Figure& f) {
        return f.verdict == Verdict::kWorse;
    });
}

Comparison compare(const Result& first, const Result& second, const CompareOptions& options) {
    if (!(first.test == second.test)) {
        throw std::invalid_argument(fmt::format("the runs are of two tests, {} and {}",
                                                to_string(first.test), to_string(second.test)));
    }
    Comparison out;
    Matcher matcher(options, out);
    for (const Entry& entry : first.entries) {
        if (const Entry* other = find(second, first, entry); other != nullptr) {
            matcher.match(entry, *other);
        }
    }
    if (out.figures.empty()) {
        throw std::invalid_argument(
            "the runs have no figure in common: no size and number of QPs was measured in both");
    }
    out.ground = matcher.ground();
    if (!second.error.empty() && first.error.empty()) {
        out.failures.push_back("the second run ended early: " + second.error);
    }
    remark_parameters(first, second, out);
    remark_missing(first, second, "first", out);
    remark_missing(second, first, "second", out);
    return out;
}

}  // namespace rdma_bench
