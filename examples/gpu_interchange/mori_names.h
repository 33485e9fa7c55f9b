// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of dingo_gda.h under MORI's names, so that kernels written for MORI port line by line.
// A Dingo card has no doorbell records: those calls do nothing, and the doorbell alone announces
// work.
#pragma once

#include "dingo_gda.h"

namespace mori_names {

enum class ProviderType { kDingo };

/// A queue, as passed to the kernel. Send queue and completion queue are the same object here.
struct WorkQueueHandle {
    dingo_gda_qp* qp;
};
struct CompletionQueueHandle {
    dingo_gda_qp* qp;
};

/// Returns the value for RingDoorbell().
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

/// Waits until all posted requests are done. Returns 0, an enum ibv_wc_status, or DINGO_GDA_GONE.
template <ProviderType P>
DGDA_FN int PollCq(CompletionQueueHandle& cq) {
    return dingo_gda_quiet(cq.qp);
}

/// No-op: polling reports consumed entries to the card, once per quarter of the queue.
template <ProviderType P>
DGDA_FN void UpdateCqDbrRecord(CompletionQueueHandle& /*cq*/) {}

}  // namespace mori_names
