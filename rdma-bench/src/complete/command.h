// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string>

namespace rdma_bench {

/// `rdma-bench completion SHELL`: the script on standard output; `arguments` begins behind
/// "completion".
/// @return exit status: 0, or 2 for bad arguments
int run_completion(std::span<const std::string> arguments);

}  // namespace rdma_bench
