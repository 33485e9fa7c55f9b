// SPDX-License-Identifier: BSD-2-Clause
//
// The turn of a QP in ERR or SQE: everything that was posted is completed with WR_FLUSH_ERR once
// and in order, also what is posted later.
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

    /// SQE: send WQEs; ERR: receives as well, or the event QP_LAST_WQE where they are an SRQ's. At
    /// most `burst` WQEs, counted in `used`. True: there are more.
    bool turn(QueuePair& qp, unsigned burst, unsigned& used);
    /// Send WQEs only.
    bool flush_sends(QueuePair& qp, unsigned burst, unsigned& used);

  private:
    bool flush_receives(QueuePair& qp, unsigned burst, unsigned& used);

    CardContext& card_;
    TransportHost& host_;
    FarWork& far_;
    Completions& completions_;
    Receives& receives_;
    SendWqe wqe_;  ///< being flushed
};

}  // namespace dingo::model
