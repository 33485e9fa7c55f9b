// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace rdma_bench::report {

struct Percentile {
    double percent;
    const char* name;
};

/// Those that JSON, CSV and HTML show.
constexpr std::array<Percentile, 7> kPercentiles{{{50, "50"},
                                                  {90, "90"},
                                                  {95, "95"},
                                                  {99, "99"},
                                                  {99.9, "99.9"},
                                                  {99.99, "99.99"},
                                                  {99.999, "99.999"}}};

/// The fewest samples of which one is expected beyond the percentile: with fewer it would be the
/// maximum by another name.
inline std::uint64_t samples_needed(double percent) {
    return static_cast<std::uint64_t>(std::llround(100 / (100 - percent)));
}

inline bool enough_samples(std::uint64_t samples, double percent) {
    return samples >= samples_needed(percent);
}

/// From this ratio of mean to median on, neither describes the latencies alone.
constexpr double kSkewed = 2;

}  // namespace rdma_bench::report
