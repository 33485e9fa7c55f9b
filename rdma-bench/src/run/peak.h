// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstdint>
#include <span>

namespace rdma_bench {

/// Returns the highest message rate of any interval from the post of one message to the completion
/// of the same or a later one, which is perftest's definition of the peak.
/// @param posted tick at which message i was posted
/// @param completed tick at which message i was known to be complete; 0 for unsignaled messages
/// @return messages per tick; 0 if no message has a completion
double peak_rate(std::span<const std::uint64_t> posted, std::span<const std::uint64_t> completed);

}  // namespace rdma_bench
