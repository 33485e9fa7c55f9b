// SPDX-License-Identifier: BSD-2-Clause
// What a benchmark printed or wrote: JSON of rdma-bench, JSON or the table of perftest.
#pragma once

#include <string>
#include <string_view>

#include "report/result.h"

namespace rdma_bench {

/// Rows of perftest become entries; its latencies, of which the histogram is not known, a Repeat.
/// The last table or JSON counts when there are several. @param name of the file or command, for
/// complaints. @throws report::BadInput
Result read_output(std::string_view text, const std::string& name);

}  // namespace rdma_bench
