// SPDX-License-Identifier: BSD-2-Clause
//
// MORI's names for what dingo_gda.h does, so that kernels written for them port line by line. A
// Dingo card has no doorbell records: those calls do nothing, and the doorbell alone says how far
// the queue is filled.
#pragma once

#include "dingo_gda.h"

namespace mori_names {

enum class ProviderType { kDingo };

/// A queue as the kernel gets it. The send queue and the completion queue are one object here.
struct WorkQueueHandle {
    dingo_gda_qp* qp;
};
struct CompletionQueueHandle {
    dingo_gda_qp* qp;
};

/// Returns what the doorbell gets.
template <ProviderType P>
DGDA_FN std::uint64_t PostWrite(WorkQueueHandle& wq, std::uint32_t /*qpn*/, std::uint64_t laddr,
                                std::uint32_t lkey, std::uint64_t raddr, std::uint32_t rkey,
                                std::size_t bytes) {
    return dingo_gda_post_write(wq.qp, laddr, lkey, raddr, rkey, static_cast<std::uint32_t>(bytes));
}

template <ProviderType P>
DGDA_FN void UpdateSendDbrRecord(WorkQueueHandle& /*wq*/, std::uint64_t /*doorbell*/) {}

template <ProviderType P>
DGDA_FN void RingDoorbell(WorkQueueHandle& wq, std::uint64_t /*doorbell*/) {
    dingo_gda_ring(wq.qp);
}

/// Waits until all that was posted is done. Returns 0, a status of enum ibv_wc_status, or
/// DINGO_GDA_GONE.
template <ProviderType P>
DGDA_FN int PollCq(CompletionQueueHandle& cq) {
    return dingo_gda_quiet(cq.qp);
}

/// The poller tells the card of taken entries, once per quarter of the queue.
template <ProviderType P>
DGDA_FN void UpdateCqDbrRecord(CompletionQueueHandle& /*cq*/) {}

}  // namespace mori_names
