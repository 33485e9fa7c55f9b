// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string>

namespace rdma_bench {

/// Runs `rdma-bench completion SHELL`, which prints the script; `arguments` begins after
/// "completion".
/// @return exit status: 0, or 2 for invalid arguments
int run_completion(std::span<const std::string> arguments);

}  // namespace rdma_bench
