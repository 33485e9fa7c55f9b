// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>

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

}  // namespace rdma_bench::report
