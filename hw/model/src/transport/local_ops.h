// SPDX-License-Identifier: BSD-2-Clause
//
// Work requests executed by the card itself, in send queue order: LOCAL_INV, BIND_MW, REG_MR, NOP.
#pragma once

#include "../memory_region.h"
#include "send_queue.h"

namespace dingo::model {

class LocalOps {
  public:
    LocalOps(MemoryTable& memory, SendQueue& send_queue)
        : memory_(memory), send_queue_(send_queue) {}

    /// Executes `wqe`, the next one of the send queue. kTurnOver: executed. kBlocked: earlier WQEs
    /// must complete first. kIdle: failed with MW_BIND_ERR.
    SendStop start(QueuePair& qp, const SendWqe& wqe);

  private:
    MemoryTable& memory_;
    SendQueue& send_queue_;
};

}  // namespace dingo::model
