// SPDX-License-Identifier: BSD-2-Clause
#include "run/peak.h"

namespace rdma_bench {

// Dinkelbach's method: for a rate r, the pair with the largest (j - i + 1) - r * (time from post i
// to completion j) has a rate of at least r; repeat with that rate until none is better. Each
// iteration is one pass; a few are enough.
double peak_rate(std::span<const std::uint64_t> posted, std::span<const std::uint64_t> completed) {
    if (posted.empty()) {
        return 0;
    }
    const auto since = [&](std::uint64_t tick) {
        return static_cast<double>(tick - posted.front());
    };
    double rate = 0;
    for (;;) {
        double best = 0, better = rate, cheapest = 0;
        std::size_t from = 0;
        for (std::size_t i = 0; i < completed.size(); ++i) {
            const double start = static_cast<double>(i) - rate * since(posted[i]);
            if (i == 0 || start < cheapest) {
                cheapest = start;
                from = i;
            }
            if (completed[i] == 0) {
                continue;
            }
            const double gain = static_cast<double>(i + 1) - rate * since(completed[i]) - cheapest;
            if (gain > best && completed[i] > posted[from]) {
                best = gain;
                better = static_cast<double>(i + 1 - from) /
                         static_cast<double>(completed[i] - posted[from]);
            }
        }
        if (better <= rate * (1 + 1e-12)) {
            return rate;
        }
        rate = better;
    }
}

}  // namespace rdma_bench
