// SPDX-License-Identifier: BSD-2-Clause
// The bandwidth tests with --verify: rounds of as many messages as there are slots. In each the
// initiator fills, transfers (only this is timed) and says so; then who holds the data compares
// every byte of every message.
//
//   initiator: round {first, count} -> responder   fills what is READ, posts receives
//              go                   <-
//              (messages)
//              sent                 ->
//              checked {...}        <-             WRITE, SEND: messages; atomics: the counter.
//              READ, atomics: also here
//   ...        end                  ->
#pragma once
#include <functional>

#include "report/result.h"
#include "run/link.h"
#include "run/traffic.h"

namespace rdma_bench {

struct VerifiedRun {
    Traffic& traffic;
    const Options& options;
    Link& link;
    std::uint64_t size = 0;
    unsigned qps = 1;
    bool extended = false;
};

struct VerifiedOutcome {
    Verification verification;
    std::uint64_t messages = 0;
    double seconds = 0;
    CpuCost cost;
};

/// Sends until the iterations or the duration are over, or Ctrl-C. `tell` hears of each round.
VerifiedOutcome run_initiator(const VerifiedRun& run,
                              const std::function<void(const VerifiedOutcome&)>& tell);
/// Answers until the initiator ends. @return what this side compared
VerifiedOutcome run_responder(const VerifiedRun& run);

}  // namespace rdma_bench
