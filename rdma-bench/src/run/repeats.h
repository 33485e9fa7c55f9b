// SPDX-License-Identifier: BSD-2-Clause
// --repeat: several measurements of the same entry become one.
#pragma once

#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// The figures of one measurement.
Repeat repeat_of(const Entry& entry);

/// Median over the repeats of one figure.
double median_of(const std::vector<Repeat>& repeats, double Repeat::*value);

/// Figures become medians, counts and costs sums, latencies those of all together, the series one
/// after the other. @param all at least one; in the order of measurement
Entry combine(std::vector<Entry> all);

}  // namespace rdma_bench
