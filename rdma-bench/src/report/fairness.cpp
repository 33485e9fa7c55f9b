// SPDX-License-Identifier: BSD-2-Clause
#include "report/fairness.h"

#include <algorithm>

namespace rdma_bench {

Fairness fairness_of(const std::vector<ClientShare>& clients) {
    Fairness f;
    if (clients.empty()) {
        return f;
    }
    double sum = 0, squares = 0;
    f.slowest = clients.front().bandwidth;
    for (const ClientShare& client : clients) {
        sum += client.bandwidth;
        squares += client.bandwidth * client.bandwidth;
        f.slowest = std::min(f.slowest, client.bandwidth);
        f.fastest = std::max(f.fastest, client.bandwidth);
    }
    f.index = squares > 0 ? sum * sum / (static_cast<double>(clients.size()) * squares) : 0;
    return f;
}

}  // namespace rdma_bench
