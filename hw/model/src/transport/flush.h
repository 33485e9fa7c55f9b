// SPDX-License-Identifier: BSD-2-Clause
//
// The turn of a QP in ERR or SQE: completes all posted WQEs, also those posted later, with
// WR_FLUSH_ERR, once each and in order.
#pragma once

#include "completions.h"
#include "receives.h"
#include "send_wqe.h"

namespace dingo::model {

class Flush {
  public:
    Flush(CardContext& card, TransportHost& host, FarWork& far, Completions& completions,
          Receives& receives)
        : card_(card), host_(host), far_(far), completions_(completions), receives_(receives) {}

    /// SQE: flushes send WQEs; ERR: also receives, or raises event QP_LAST_WQE if they are an
    /// SRQ's. Flushes at most `burst` WQEs, counted in `used`. Returns true if there are more.
    bool turn(QueuePair& qp, unsigned burst, unsigned& used);
    /// Flushes send WQEs only.
    bool flush_sends(QueuePair& qp, unsigned burst, unsigned& used);

  private:
    bool flush_receives(QueuePair& qp, unsigned burst, unsigned& used);

    CardContext& card_;
    TransportHost& host_;
    FarWork& far_;
    Completions& completions_;
    Receives& receives_;
    SendWqe wqe_;  ///< the WQE being flushed
};

}  // namespace dingo::model
