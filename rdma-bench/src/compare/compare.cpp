// SPDX-License-Identifier: BSD-2-Clause
#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "report/markup.h"

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

class Matcher {
  public:
    Matcher(const CompareOptions& options, Comparison& out) : options_(options), out_(out) {}

    void match(const Entry& first, const Entry& second) {
        if (first.bandwidth && second.bandwidth) {
            add(first, "bandwidth", first.bandwidth->average, second.bandwidth->average, true,
                true);
        }
        if (first.latency && second.latency) {
            add(first, "median latency", first.latency->typical(), second.latency->typical(), false,
                true);
            add(first, "99th percentile", first.latency->percentile(kTail),
                second.latency->percentile(kTail), false, options_.tail);
        }
        const auto wrong = [](const Entry& e) { return e.verification && !e.verification->ok(); };
        if (wrong(second) && !wrong(first)) {
            out_.failures.push_back(
                fmt::format("{} with {} QP(s): {} wrong message(s): {}",
                            report::format_bytes(static_cast<double>(second.size)), second.qps,
                            second.verification->wrong, second.verification->first));
        }
    }

  private:
    void add(const Entry& entry, const char* name, double first, double second, bool higher,
             bool judged) {
        // What was not measured has no ratio.
        if (!(first > 0) || !(second > 0) || !std::isfinite(first) || !std::isfinite(second)) {
            return;
        }
        Figure figure{entry.size, entry.qps, name, first, second, higher, Verdict::kNotJudged};
        if (judged) {
            figure.verdict = judge(figure, options_.threshold);
        }
        out_.figures.push_back(std::move(figure));
    }

    CompareOptions options_;
    Comparison& out_;
};

const Entry* find(const Result& result, const Entry& like) {
    const auto found =
        std::find_if(result.entries.begin(), result.entries.end(),
                     [&](const Entry& e) { return e.size == like.size && e.qps == like.qps; });
    return found == result.entries.end() ? nullptr : &*found;
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
        if (find(from, entry) == nullptr) {
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
        if (const Entry* other = find(second, entry); other != nullptr) {
            matcher.match(entry, *other);
        }
    }
    if (out.figures.empty()) {
        throw std::invalid_argument(
            "the runs have no figure in common: no size and number of QPs was measured in both");
    }
    if (!second.error.empty() && first.error.empty()) {
        out.failures.push_back("the second run ended early: " + second.error);
    }
    remark_parameters(first, second, out);
    remark_missing(first, second, "first", out);
    remark_missing(second, first, "second", out);
    return out;
}

}  // namespace rdma_bench
