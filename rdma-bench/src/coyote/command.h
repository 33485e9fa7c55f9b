// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>
#include <string>

namespace rdma_bench {

/// `rdma-bench coyote`: latency and throughput as Coyote's example 8 measures and prints them,
/// client or server. `arguments` begins behind "coyote".
/// @return exit status, as exit.h has it
int run_coyote(std::span<const std::string> arguments);

}  // namespace rdma_bench
