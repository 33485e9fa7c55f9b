// SPDX-License-Identifier: BSD-2-Clause
// --clients: a server with several concurrent clients. Each
// client has a separate session with its own QPs and memory; all begin each entry together.
#pragma once
#include <vector>

#include "exit.h"
#include "options/options.h"
#include "report/result.h"

namespace rdma_bench {

/// Like run_session(), for `options.clients` clients.
Exit run_clients(const Options& options, Sink& sink);

/// Merges the same entry of all clients: sums of rates, counts and costs, and the longest time.
/// Counters of this side's port are taken from the first client, as all see the same port.
/// @param all one entry of each client
Entry add_up(std::vector<Entry> all);

}  // namespace rdma_bench
