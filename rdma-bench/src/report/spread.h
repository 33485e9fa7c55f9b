// SPDX-License-Identifier: BSD-2-Clause
// What several measurements of the same tell: their median, and an interval that holds the median
// of all that could be measured. It is taken from the sorted values themselves (a binomial
// argument), so nothing is assumed about how they are distributed.
#pragma once

#include <cstddef>
#include <vector>

namespace rdma_bench {

/// What an interval must have to decide something.
constexpr double kWantedConfidence = 0.95;
/// Fewer values cannot give an interval of that confidence.
constexpr unsigned kFewestRepeats = 6;

struct Spread {
    std::size_t count = 0;
    double median = 0;
    double low = 0, high = 0;  ///< ends of the interval
    double confidence =
        0;  ///< that it really has: at least kWantedConfidence with 6 values or more

    [[nodiscard]] bool decides() const { return confidence >= kWantedConfidence; }
};

/// The narrowest pair of values, equally far from both ends, with the wanted confidence; the least
/// and the greatest with less when there are too few.
Spread spread_of(std::vector<double> values);

}  // namespace rdma_bench
