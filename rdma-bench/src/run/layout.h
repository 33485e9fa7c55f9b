// SPDX-License-Identifier: BSD-2-Clause
// Layout of the QPs' messages in the buffer. Both sides compute the same from the agreed options.
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

/// Bytes of the GRH before the message in a UD receive.
constexpr std::size_t kGrhSize = 40;

struct Slots {
    std::size_t stride = 0;  ///< bytes, a multiple of a cache line
    unsigned count = 1;
    [[nodiscard]] std::size_t bytes() const { return stride * count; }
};

struct Layout {
    std::size_t out_area = 0, in_area = 0;  ///< bytes, whole pages, for the largest size
    unsigned qps = 1;                       ///< largest number of QPs

    [[nodiscard]] std::size_t out(unsigned qp) const { return qp * (out_area + in_area); }
    [[nodiscard]] std::size_t in(unsigned qp) const { return out(qp) + out_area; }
    [[nodiscard]] std::size_t total() const { return out(qps); }
};

Slots out_slots(const Options& options, std::uint64_t size);
Slots in_slots(const Options& options, std::uint64_t size);
Layout make_layout(const Options& options);

/// Returns the used depth of the send queue: -t, limited by the number of messages or verified
/// slots.
unsigned send_depth(const Options& options, std::uint64_t size);
/// Returns the number of receives posted to a QP or the SRQ.
unsigned receive_depth(const Options& options, std::uint64_t size);
/// Returns the number of messages per completion: as in perftest, 1 above 8 KiB unless -Q was
/// given; a multiple of -l and at most the send depth.
unsigned completion_interval(const Options& options, std::uint64_t size);

}  // namespace rdma_bench
