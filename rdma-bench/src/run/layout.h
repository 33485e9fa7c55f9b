// SPDX-License-Identifier: BSD-2-Clause
// Where in the buffer each QP's messages lie. Both sides compute the same from what they agreed on.
//
//   QP 0 out area | QP 0 in area | QP 1 out area | ...      out: sources of this side's messages,
//   and what the peer READs;
//                                                           in: targets of the peer's, and what
//                                                           this side READs into
// An area has slots of equal stride. Unverified messages go round in one page (one slot when they
// are larger), as those of perftest do; verified ones have a slot each while they are under way. A
// latency test has one slot, verified two.
#pragma once
#include <cstddef>
#include <cstdint>

#include "options/options.h"

namespace rdma_bench {

/// Bytes that a UD receive has in front of the message.
constexpr std::size_t kGrhSize = 40;

struct Slots {
    std::size_t stride = 0;  ///< bytes, a multiple of a cache line
    unsigned count = 1;
    [[nodiscard]] std::size_t bytes() const { return stride * count; }
};

struct Layout {
    std::size_t out_area = 0, in_area = 0;  ///< bytes, whole pages, for the largest size
    unsigned qps = 1;                       ///< the most there are at a time

    [[nodiscard]] std::size_t out(unsigned qp) const { return qp * (out_area + in_area); }
    [[nodiscard]] std::size_t in(unsigned qp) const { return out(qp) + out_area; }
    [[nodiscard]] std::size_t total() const { return out(qps); }
};

Slots out_slots(const Options& options, std::uint64_t size);
Slots in_slots(const Options& options, std::uint64_t size);
Layout make_layout(const Options& options);

/// How deep the send queue is used: -t, but not deeper than there are messages or verified slots.
unsigned send_depth(const Options& options, std::uint64_t size);
/// Receives that are posted on a QP, or on the SRQ.
unsigned receive_depth(const Options& options, std::uint64_t size);
/// Each so many messages one asks for a completion: as perftest, 1 above 8 KiB unless -Q was given;
/// a multiple of -l and no more than fit.
unsigned completion_interval(const Options& options, std::uint64_t size);

}  // namespace rdma_bench
