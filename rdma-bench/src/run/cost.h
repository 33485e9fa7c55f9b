// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <cstdint>
#include <optional>

#include "report/result.h"

namespace rdma_bench {

/// Measures the CPU cost of the calling thread between construction and stop().
class ThreadCost {
  public:
    /// @param instructions also count instructions (perf_event_open()), if the kernel allows it
    explicit ThreadCost(bool instructions);
    ~ThreadCost();
    ThreadCost(const ThreadCost&) = delete;
    ThreadCost& operator=(const ThreadCost&) = delete;
    /// Returns the cost; `messages` is 0.
    CpuCost stop();

  private:
    int fd_ = -1;
    double user_ = 0, system_ = 0;
};

/// Adds the cost of another thread.
void add_cost(CpuCost& sum, const CpuCost& more);

}  // namespace rdma_bench
