// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "report/html.h"
#include "report/page.h"

namespace rdma_bench::report {

/// One table a run, without the columns that no entry fills.
Table results_table(const Run& run);
/// --clients: a line for each entry and client; without rows when there was one client.
Table clients_table(const Run& run);
/// What each setting was in each run.
Table parameters_table(const std::vector<Run>& runs);
/// Host, processor and RDMA device of both sides of each run.
Table machines_table(const std::vector<Run>& runs);
/// Port counters that moved, as differences; without rows when none did or none was read.
Table counters_table(const Run& run);

}  // namespace rdma_bench::report
