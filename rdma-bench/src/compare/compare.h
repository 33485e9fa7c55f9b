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
    kBetter,  ///< better by more than the threshold
    kWorse,
    kUnclear,    ///< repeats scatter too much, or are too few, to decide
    kNotJudged,  ///< only shown
};

std::string_view to_string(Verdict verdict);

/// One figure of both runs, for one message size and number of QPs.
struct Figure {
    std::uint64_t size = 0;  ///< bytes
    unsigned qps = 1;
    std::string name;              ///< "bandwidth", "median latency"
    double first = 0, second = 0;  ///< bytes/s or ns; medians of repeats
    bool higher_is_better = true;
    Verdict verdict = Verdict::kSame;
    /// Confidence interval of ratio() from the repeats of both runs; nullopt for single runs.
    std::optional<Spread> interval = std::nullopt;

    [[nodiscard]] double ratio() const { return interval ? interval->median : second / first; }
};

struct CompareOptions {
    double threshold = 0.03;  ///< fraction by which the second may be worse
    bool tail = false;        ///< also judge the 99th percentile
    /// Threshold if one of the runs has no repeats, so that its scatter is unknown; nullopt: the
    /// same.
    std::optional<double> single = std::nullopt;
    /// Repeat i of one run was measured next to repeat i of the other, so that disturbances of the
    /// machine affect both.
    bool paired = false;
};

struct Comparison {
    std::vector<Figure> figures;  ///< in the order of the first run's entries
    /// Faults of the second run only: wrong data, an early end.
    std::vector<std::string> failures;
    /// Entries of one run only, settings that differ.
    std::vector<std::string> remarks;
    /// Basis of the verdicts, in one sentence.
    std::string ground;

    [[nodiscard]] bool worse() const;
};

/// Compares two runs. Entries are matched by size and number of QPs, and in their order if several
/// have the same. With repeats in both runs the confidence intervals of their medians decide,
/// otherwise the threshold alone.
/// @throws std::invalid_argument for runs of two different tests, or without a common entry
Comparison compare(const Result& first, const Result& second, const CompareOptions& options);

}  // namespace rdma_bench
