// SPDX-License-Identifier: BSD-2-Clause
// Runs two commands alternately, so that disturbances of the machine affect the figures of both.
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

/// Parses "-- A... -- B...". @throws std::invalid_argument
Commands two_commands(std::span<const std::string> words);

/// Runs A B, B A, A B ... and parses their output. The results have a Repeat for each round.
/// @throws std::runtime_error: a command could not start, failed or printed no figures
std::vector<report::Run> interleave(const Commands& commands, unsigned rounds);

/// Formats all figures with their pairs, intervals and verdicts.
std::string to_json(const std::vector<report::Run>& runs, const Comparison& comparison,
                    const CompareOptions& options);

}  // namespace rdma_bench
