// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compare/compare.h"

namespace rdma_bench {

/// "judged", "figures", "failures" and "remarks" of schema "rdma-bench-compare"
/// (docs/reference/rdma-bench.md).
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace rdma_bench
