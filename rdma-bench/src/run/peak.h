// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstdint>
#include <span>

namespace rdma_bench {

/// The best message rate of any stretch from the post of one message to the completion of the same
/// or a later one, as perftest defines its peak.
/// @param posted tick at which message i was posted
/// @param completed tick at which message i was known to be complete; 0 for those without a
/// completion of their own
/// @return messages per tick; 0 when no message has a completion
double peak_rate(std::span<const std::uint64_t> posted, std::span<const std::uint64_t> completed);

}  // namespace rdma_bench
