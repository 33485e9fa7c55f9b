// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "coyote8/options.h"

namespace coyote8 {

/// Connects, measures all sizes and prints them.
/// @throws RunError, qpx::Error, std::invalid_argument, std::runtime_error
void run_session(const Options& options);

/// Returns the options that must be equal on both sides, as text for comparison.
std::string settings(const Options& options);

/// Formats a result like Coyote's example: "Size:       64; Average throughput:  12.3456 MB/s;
/// Average latency:      7.5 us".
/// @param throughput MiB/s, which the example calls MB/s
std::string size_line(std::uint32_t size, double throughput, double latency_us);

}  // namespace coyote8
