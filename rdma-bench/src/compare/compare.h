// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/result.h"
#include "report/spread.h"

namespace rdma_bench {

enum class Verdict : std::uint8_t {
    kSame,    ///< within the threshold
    kBetter,  ///< better than the threshold
    kWorse,
    kUnclear,    ///< the repeats scatter too much, or are too few, to say one of these
    kNotJudged,  ///< shown only
};

std::string_view to_string(Verdict verdict);

/// One figure of one size and number of QPs in both runs.
struct Figure {
    std::uint64_t size = 0;  ///< bytes
    unsigned qps = 1;
    std::string name;              ///< "bandwidth", "median latency"
    double first = 0, second = 0;  ///< bytes a second; nanoseconds; medians of repeats
    bool higher_is_better = true;
    Verdict verdict = Verdict::kSame;
    /// What ratio() may be, by the repeats of both; nothing for single runs.
    std::optional<Spread> interval = std::nullopt;

    [[nodiscard]] double ratio() const { return interval ? interval->median : second / first; }
};

struct CompareOptions {
    double threshold = 0.03;  ///< part by which the second may be worse
    bool tail = false;        ///< the 99th percentile is judged, too
    /// Threshold where one of the runs has no repeats, so that its scatter is unknown; nothing: the
    /// same.
    std::optional<double> single = std::nullopt;
    /// Repeat i of one run was measured beside repeat i of the other, so that what the machine did
    /// meanwhile is in both.
    bool paired = false;
};

struct Comparison {
    std::vector<Figure> figures;  ///< in the order of the first run's entries
    /// Faults of the second run that the first has not: wrong data, an early end.
    std::vector<std::string> failures;
    /// Entries of one run only, settings that differ.
    std::vector<std::string> remarks;
    /// What the verdicts rest on, in a sentence.
    std::string ground;

    [[nodiscard]] bool worse() const;
};

/// Entries are matched by size and number of QPs. With repeats in both runs the intervals of their
/// medians decide, without them the threshold alone.
/// @throws std::invalid_argument for runs of two different tests, or without an entry in common
Comparison compare(const Result& first, const Result& second, const CompareOptions& options);

}  // namespace rdma_bench
