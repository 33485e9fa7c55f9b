// SPDX-License-Identifier: BSD-2-Clause
// Options of perftest that are not here: each is refused with what to do instead.
#pragma once
#include <span>
#include <string_view>

namespace rdma_bench {

struct RefusedOption {
    std::string_view names;     ///< as CLI11 takes them: "-O,--dualport"
    std::string_view sentence;  ///< why not, what instead
};

std::span<const RefusedOption> refused_options();

}  // namespace rdma_bench
