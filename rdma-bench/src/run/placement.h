// SPDX-License-Identifier: BSD-2-Clause
// Placement of threads and memory on processors and NUMA nodes, which explains differing results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// Fills in the NUMA nodes, the processors and the clock. @param memory of the messages; null if
/// the CPU cannot access it
void note_placement(HostFacts& facts, const void* memory, std::span<const unsigned> pin);

/// Refuses processors that this process may not use. @throws RunError(kUsage)
void check_pin(std::span<const unsigned> pin);
/// Pins the calling thread to one processor of the list, chosen round-robin; no-op if `pin` is
/// empty.
/// @param number of the thread
void pin_thread(std::span<const unsigned> pin, std::size_t number);

/// Formats ascending numbers as "0,2-3".
std::string ranges(std::span<const unsigned> numbers);

}  // namespace rdma_bench
