// SPDX-License-Identifier: BSD-2-Clause
// How the counters of this side's port moved, for a terminal.
#pragma once

#include <string>

#include "report/result.h"

namespace rdma_bench::report {

/// Lines that begin with a tab. One entry: "name=difference". Several: a table with a column for
/// each. @param named counters that did not move are shown, too, instead of counted
std::string counter_table(const Result& result, bool named);

}  // namespace rdma_bench::report
