// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "report/html.h"
#include "report/plot.h"

namespace rdma_bench::report {

/// Bandwidth, message rate and latency against the size of the messages, or against the number of
/// QPs when there is only one size. Plots of figures that no run has stay without series.
std::vector<Plot> overview_plots(const std::vector<Run>& runs);
/// How the latencies of single sizes are distributed.
std::vector<Plot> distribution_plots(const std::vector<Run>& runs);

/// Throughput over time; without a line when no entry has a series.
Plot series_plot(const std::vector<Run>& runs);

}  // namespace rdma_bench::report
