// SPDX-License-Identifier: BSD-2-Clause
// Two commands in turn, so that what the machine does meanwhile is in the figures of both.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "report/html.h"

namespace rdma_bench {

struct Commands {
    std::vector<std::string> first, second;
};

/// "-- A... -- B..." @throws std::invalid_argument
Commands two_commands(std::span<const std::string> words);

/// Runs A B, B A, A B ... and reads the figures from what they print. The results have a Repeat for
/// each round. @throws std::runtime_error: a command could not start, failed or printed no figures
std::vector<report::Run> interleave(const Commands& commands, unsigned rounds);

/// All figures with their pairs, the intervals and the verdicts.
std::string to_json(const std::vector<report::Run>& runs, const Comparison& comparison,
                    const CompareOptions& options);

}  // namespace rdma_bench
