// SPDX-License-Identifier: BSD-2-Clause
// Bandwidth tests with --verify run in rounds with one message per slot of each QP. In each round
// the sides fill in, transfer (only this is timed) and report; then the side that has the data
// compares every byte of every message. The client leads; with -b both sides send.
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
    Verification verification;   ///< leader: of both sides; follower: its own comparisons
    std::uint64_t messages = 0;  ///< messages sent by this side
    double seconds = 0;          ///< time spent sending
    CpuCost cost;
};

/// Runs rounds until the iterations or the duration are over, or Ctrl-C. Calls `tell` after each.
VerifiedOutcome lead_rounds(const VerifiedRun& run,
                            const std::function<void(const VerifiedOutcome&)>& tell);
/// Takes part in rounds until the leader ends.
VerifiedOutcome follow_rounds(const VerifiedRun& run);

}  // namespace rdma_bench
