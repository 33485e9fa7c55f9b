// SPDX-License-Identifier: BSD-2-Clause
//
// Receiver not ready, both halves: the responder's RNR NAK, and the requester's wait and retry.
#pragma once

#include "../card_context.h"
#include "ack_nak.h"
#include "deadlines.h"
#include "retransmit.h"
#include "send_queue.h"

namespace dingo::model {

class Rnr {
  public:
    Rnr(CardContext& card, Deadlines& deadlines, SendQueue& send_queue, Retransmit& retransmit,
        AckNak& ack_nak)
        : card_(card),
          deadlines_(deadlines),
          send_queue_(send_queue),
          retransmit_(retransmit),
          ack_nak_(ack_nak) {}

    /// Responder: no receive, or a paused region. Makes the peer send the expected packet again
    /// after the QP's min_rnr_timer.
    void nak_not_ready(QueuePair& qp);
    /// Requester: waits as long as the peer's `syndrome` says, then repeats from `psn`. Fails with
    /// RNR_RETRY_EXC_ERR when rnr_retry is exhausted; 7 means no limit.
    void receive_rnr_nak(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn);

  private:
    CardContext& card_;
    Deadlines& deadlines_;
    SendQueue& send_queue_;
    Retransmit& retransmit_;
    AckNak& ack_nak_;
};

}  // namespace dingo::model
