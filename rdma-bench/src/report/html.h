// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench::report {

/// A result and what the report calls it.
struct Run {
    std::string name;
    Result result;
};

/// One HTML document with plots and tables of all runs, which are compared with the first where
/// they are of the same test. It needs nothing else: no scripts, no fonts, no network. Everything
/// in the runs is shown as text.
/// @param threshold, paired, single for the verdicts of the comparison, as CompareOptions has them
std::string to_html(const std::vector<Run>& runs, double threshold = 0.03, bool paired = false,
                    std::optional<double> single = std::nullopt);

}  // namespace rdma_bench::report
