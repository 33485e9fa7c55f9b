// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "compare/compare.h"

namespace rdma_bench {

/// Formats the comparison for a terminal: one line per figure, remarks, failures, and a last line
/// with the verdict.
std::string to_table(const Comparison& comparison, const CompareOptions& options);

/// Formats a figure's value with its unit: "12.3 Gb/s", "1.84 µs".
std::string format_figure(const Figure& figure, double value);
/// Formats the difference of the second from the first: "+3.2 %".
std::string format_change(const Figure& figure);

/// Formats the confidence interval of the change in percent: "-1.2 to +3.4"; empty for single runs.
std::string format_interval(const Figure& figure);

/// Parses "3%" or "0.03". @throws std::invalid_argument
double parse_threshold(const std::string& text);

}  // namespace rdma_bench
