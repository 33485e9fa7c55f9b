// SPDX-License-Identifier: BSD-2-Clause
//
// Handles completed accesses to far memory: performs the effects that waited for them, or fails the
// QP.
#pragma once

#include "ack_nak.h"
#include "completions.h"
#include "error_flow.h"
#include "far_work.h"
#include "read_responses.h"
#include "retransmit.h"
#include "send_queue.h"

namespace dingo::model {

class FarSettling {
  public:
    FarSettling(CardContext& card, FarWork& far, Scheduler& scheduler, ErrorFlow& errors,
                Completions& completions, AckNak& ack_nak, SendQueue& send_queue,
                Retransmit& retransmit)
        : card_(card),
          far_(far),
          scheduler_(scheduler),
          errors_(errors),
          completions_(completions),
          ack_nak_(ack_nak),
          send_queue_(send_queue),
          retransmit_(retransmit) {}

    /// Handles QPs that wait, if something has moved.
    void run();

  private:
    void settle(QueuePair& qp, Half half);
    void tell(QueuePair& qp, Half half, const FarEffect& effect);
    /// An access of this half met a bus error.
    void fail(QueuePair& qp, Half half);
    /// Completes what waited: the first success gets the fault, later ones are flushed. Returns
    /// false if there was no success.
    bool fail_completions(QueuePair& qp, Half half);

    CardContext& card_;
    FarWork& far_;
    Scheduler& scheduler_;
    ErrorFlow& errors_;
    Completions& completions_;
    AckNak& ack_nak_;
    SendQueue& send_queue_;
    Retransmit& retransmit_;
};

}  // namespace dingo::model
