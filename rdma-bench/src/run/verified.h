// SPDX-License-Identifier: BSD-2-Clause
// The bandwidth tests with --verify: rounds of as many messages of each QP as there are slots. In
// each round the sides fill, transfer (only this is timed) and report; then the side that has the
// data compares every byte of every message. The client leads; with -b both sides send.
//
//   leader:   round {first, count} ->   follower   fills what it sends or what is READ
//             go                   <-
//             (messages)
//             sent                 <->             from a side that sends
//             checked {...}        <-              what the follower compared: WRITE, SEND: the
//                                                  leader's messages; READ, atomics: its own, and
//                                                  the counter
//   ...       end                  ->
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
    Verification verification;  ///< of both sides; what only the follower compared, at the follower
    std::uint64_t messages = 0;  ///< that this side sent
    double seconds = 0;          ///< in which it did
    CpuCost cost;
};

/// Until the iterations or the duration are over, or Ctrl-C. `tell` hears of each round.
VerifiedOutcome lead_rounds(const VerifiedRun& run,
                            const std::function<void(const VerifiedOutcome&)>& tell);
/// Answers until the leader ends.
VerifiedOutcome follow_rounds(const VerifiedRun& run);

}  // namespace rdma_bench
