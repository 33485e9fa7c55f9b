// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "compare/compare.h"
#include "report/result.h"

namespace rdma_bench::report {

/// A result and what the report calls it.
struct Run {
    std::string name;
    Result result;
};

/// One HTML document: the page (report/page) with the JSON of all runs and of their comparisons
/// with the first. It needs nothing else, and no text of a run is markup or script.
std::string to_html(const std::vector<Run>& runs, const CompareOptions& options = {});

}  // namespace rdma_bench::report
