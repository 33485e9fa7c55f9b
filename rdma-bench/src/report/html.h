// SPDX-License-Identifier: BSD-2-Clause
#pragma once

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
/// @param threshold for the verdicts of the comparison, as CompareOptions has it
std::string to_html(const std::vector<Run>& runs, double threshold = 0.03);

}  // namespace rdma_bench::report
