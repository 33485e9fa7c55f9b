// SPDX-License-Identifier: BSD-2-Clause
#include "report/spread.h"

#include <algorithm>
#include <cmath>

namespace rdma_bench {

Spread spread_of(std::vector<double> values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    Spread out;
    out.count = values.size();
    if (values.empty()) {
        return out;
    }
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    out.median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    // The k least values lie all above the true median with the probability of at most k - 1 of n
    // fair coins on one side. In logarithms: the powers of two leave a double's range above 1000
    // values.
    double tail = 0;
    std::size_t k = 0;
    for (std::size_t below = 0; below < n / 2; ++below) {
        const auto i = static_cast<double>(below), all = static_cast<double>(n);
        tail += std::exp(std::lgamma(all + 1) - std::lgamma(i + 1) - std::lgamma(all - i + 1) -
                         all * std::log(2.0));
        const double confidence = 1 - 2 * tail;
        if (below > 0 && confidence < kWantedConfidence) {
            break;
        }
        k = below;
        out.confidence = confidence;
    }
    out.low = values[k];
    out.high = values[n - 1 - k];
    return out;
}

}  // namespace rdma_bench
