// SPDX-License-Identifier: BSD-2-Clause
//
// dingo run --cluster N -- LAUNCHER...: a card for each rank of a parallel program.
#pragma once

#include <string>
#include <vector>

#include "app/cli/daemon.h"

namespace dingo::cli {

/// Runs the command with cards PREFIX0 ... Each process sees the card of its local rank
/// (hw/host/preload/rank.c), or all if it has none. Cards started here are stopped at the end.
/// Returns the command's exit status. Throws Error.
int run_cluster(unsigned cards, const std::string& prefix, const StartOptions& start,
                const std::vector<std::string>& command);

}  // namespace dingo::cli
