// SPDX-License-Identifier: BSD-2-Clause
// Where threads and memory of a run are: what explains that two runs of the same differ.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// Fills in the NUMA nodes, the processors and the clock. @param memory of the messages; null: the
/// processor has no address for it
void note_placement(HostFacts& facts, const void* memory, std::span<const unsigned> pin);

/// Refuses processors that this process may not use. @throws RunError(kUsage)
void check_pin(std::span<const unsigned> pin);
/// The calling thread on a processor of its own; nothing when `pin` is empty. @param number of the
/// thread; the list is gone through in turn
void pin_thread(std::span<const unsigned> pin, std::size_t number);

/// "0,2-3" of ascending numbers.
std::string ranges(std::span<const unsigned> numbers);

}  // namespace rdma_bench
