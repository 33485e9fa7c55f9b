// SPDX-License-Identifier: BSD-2-Clause
// Options of perftest that rdma-bench lacks: each is refused with what to do instead.
#pragma once
#include <span>
#include <string_view>

namespace rdma_bench {

struct RefusedOption {
    std::string_view names;     ///< in CLI11's format: "-O,--dualport"
    std::string_view sentence;  ///< reason and alternative
};

std::span<const RefusedOption> refused_options();

}  // namespace rdma_bench
