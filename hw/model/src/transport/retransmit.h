// SPDX-License-Identifier: BSD-2-Clause
//
// Loss recovery of the requester: go-back-N to the oldest unacknowledged PSN, with counted retries.
// What is repeated is made again from the send queue and host memory.
#pragma once

#include "../card_context.h"
#include "deadlines.h"
#include "scheduler.h"
#include "send_queue.h"

namespace dingo::model {

class Retransmit {
  public:
    Retransmit(CardContext& card, Deadlines& deadlines, Scheduler& scheduler, SendQueue& send_queue)
        : card_(card), deadlines_(deadlines), scheduler_(scheduler), send_queue_(send_queue) {}

    /// The ACK timer is over.
    void ack_timeout(QueuePair& qp);
    /// NAK "PSN sequence error" for `psn`: acknowledges everything before it.
    void receive_sequence_nak(QueuePair& qp, std::uint32_t psn);
    /// There is room again for data that were dropped as there was none.
    void ask_again(QueuePair& qp);
    /// A response skipped one: it was lost.
    void implied_nak(QueuePair& qp);
    /// Sends again from the oldest unacknowledged PSN on.
    void go_back(QueuePair& qp);

  private:
    /// False: none was left, and the QP has failed with RETRY_EXC_ERR and `vendor_err`.
    bool use_retry(QueuePair& qp, std::uint8_t vendor_err);

    CardContext& card_;
    Deadlines& deadlines_;
    Scheduler& scheduler_;
    SendQueue& send_queue_;
};

}  // namespace dingo::model
