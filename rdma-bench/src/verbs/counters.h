// SPDX-License-Identifier: BSD-2-Clause
// Counters of a port as sysfs has them.
#pragma once
#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// Which counters of -W there are: names are paths below ports/N ("hw_counters/x"), "all" is all of
/// them.
/// @param root of the devices, /sys/class/infiniband outside tests
/// @throws RunError(kDevice) for a name that there is not, with those that there are
std::vector<std::string> find_counters(const std::string& device, unsigned port,
                                       const std::vector<std::string>& wanted,
                                       const std::string& root = "/sys/class/infiniband");

/// Their values now, in `before` and `after` alike; a counter that cannot be read (any more) is 0.
std::vector<Counter> read_counters(const std::string& device, unsigned port,
                                   const std::vector<std::string>& names,
                                   const std::string& root = "/sys/class/infiniband");

/// Sets `after` of each to what it is now.
void read_again(std::vector<Counter>& counters, const std::string& device, unsigned port,
                const std::string& root = "/sys/class/infiniband");

}  // namespace rdma_bench
