// SPDX-License-Identifier: BSD-2-Clause
// --repeat: merges several measurements of an entry.
#pragma once

#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// Returns the figures of one measurement.
Repeat repeat_of(const Entry& entry);

/// Returns the median of one figure over the repeats.
double median_of(const std::vector<Repeat>& repeats, double Repeat::*value);

/// Merges measurements: medians of figures, sums of counts and costs, all latencies together, and
/// the time series concatenated. @param all at least one, in order of measurement
Entry combine(std::vector<Entry> all);

}  // namespace rdma_bench
