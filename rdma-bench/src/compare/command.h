// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace rdma_bench {

/// `rdma-bench compare A.json B.json [--threshold 3%] [--tail] [--html FILE]`; `arguments` begins
/// behind "compare".
/// @return exit status: 0 nothing is worse, 1 something is, 2 bad arguments or files
int run_compare(std::span<const std::string> arguments);

/// `rdma-bench report A.json [B.json...] --html FILE`.
/// @return exit status: 0, or 2 for bad arguments or files
int run_report(std::span<const std::string> arguments);

/// Both as commands of `root` with their options: what completion is made from.
void add_compare_commands(CLI::App& root);

}  // namespace rdma_bench
