// SPDX-License-Identifier: BSD-2-Clause
// Counters of a port in sysfs.
#pragma once
#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// Resolves the counters of -W: names are paths below ports/N ("hw_counters/x"); "all" selects all.
/// @param root directory of the devices, different in tests
/// @throws RunError(kDevice) for an unknown name, with the existing ones
std::vector<std::string> find_counters(const std::string& device, unsigned port,
                                       const std::vector<std::string>& wanted,
                                       const std::string& root = "/sys/class/infiniband");

/// Reads the current values into both `before` and `after`; an unreadable counter is 0.
std::vector<Counter> read_counters(const std::string& device, unsigned port,
                                   const std::vector<std::string>& names,
                                   const std::string& root = "/sys/class/infiniband");

/// Sets `after` of each counter to its current value.
void read_again(std::vector<Counter>& counters, const std::string& device, unsigned port,
                const std::string& root = "/sys/class/infiniband");

}  // namespace rdma_bench
