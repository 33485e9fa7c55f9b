// SPDX-License-Identifier: BSD-2-Clause
// --clients: one server, several clients at the same time. Each has a session of its own, with its
// own QPs and memory; entries begin together.
#pragma once
#include <vector>

#include "exit.h"
#include "options/options.h"
#include "report/result.h"

namespace rdma_bench {

/// As run_session(), for `options.clients`.
Exit run_clients(const Options& options, Sink& sink);

/// The same entry of all clients as one: rates, counts and costs add up, the time is the longest,
/// counters of this side's port are those of the first, for all see the same port.
/// @param all one of each client
Entry add_up(std::vector<Entry> all);

}  // namespace rdma_bench
