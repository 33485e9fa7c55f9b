// SPDX-License-Identifier: BSD-2-Clause
// Parser of a benchmark's output: JSON of rdma-bench, or JSON or the table of perftest.
#pragma once

#include <string>
#include <string_view>

#include "report/result.h"

namespace rdma_bench {

/// Parses an output. Rows of perftest become entries; its latencies, without a histogram, become a
/// Repeat. If there are several tables or JSON objects, the last one is used. @param name of the
/// file or command, for error texts. @throws report::BadInput
Result read_output(std::string_view text, const std::string& name);

}  // namespace rdma_bench
