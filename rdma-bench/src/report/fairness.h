// SPDX-License-Identifier: BSD-2-Clause
// --clients: how evenly the clients of one server shared it.
#pragma once
#include <vector>

#include "report/result.h"

namespace rdma_bench {

struct Fairness {
    double index = 0;    ///< Jain's index: 1 when all have the same, 1/N when one has all
    double slowest = 0;  ///< bytes a second
    double fastest = 0;
    /// Slowest over fastest; 0 when nothing moved.
    [[nodiscard]] double ratio() const { return fastest > 0 ? slowest / fastest : 0; }
};

Fairness fairness_of(const std::vector<ClientShare>& clients);

}  // namespace rdma_bench
