// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "compare/compare.h"

namespace rdma_bench {

/// The comparison for a terminal: a line a figure, remarks, failures, and a last line with the
/// verdict.
std::string to_table(const Comparison& comparison, const CompareOptions& options);

/// A figure's value with its unit: "12.3 Gb/s", "1.84 µs".
std::string format_figure(const Figure& figure, double value);
/// "+3.2 %": how much the second differs from the first.
std::string format_change(const Figure& figure);

/// "-1.2 to +3.4": between which changes in percent the true one lies; empty for single runs.
std::string format_interval(const Figure& figure);

/// "3%" or "0.03". @throws std::invalid_argument
double parse_threshold(const std::string& text);

}  // namespace rdma_bench
