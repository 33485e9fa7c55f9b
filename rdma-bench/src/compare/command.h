// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace rdma_bench {

/// Runs `rdma-bench compare A.json B.json [--threshold 3%] [--tail] [--html FILE]`; `arguments`
/// begins after "compare".
/// @return exit status: 0 nothing is worse, 1 something is, 2 invalid arguments or files
int run_compare(std::span<const std::string> arguments);

/// Runs `rdma-bench report A.json [B.json...] --html FILE`.
/// @return exit status: 0, or 2 for invalid arguments or files
int run_report(std::span<const std::string> arguments);

/// Adds both commands with their options to `root`, for the generation of completion scripts.
void add_compare_commands(CLI::App& root);

}  // namespace rdma_bench
