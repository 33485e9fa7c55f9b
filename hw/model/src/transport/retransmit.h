// SPDX-License-Identifier: BSD-2-Clause
//
// Loss recovery of the requester: go-back-N to the oldest unacknowledged PSN, with counted retries.
// Repeated packets are rebuilt from the send queue and host memory.
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

    /// The ACK timer has expired.
    void ack_timeout(QueuePair& qp);
    /// NAK "PSN sequence error" for `psn`: acknowledges everything before it.
    void receive_sequence_nak(QueuePair& qp, std::uint32_t psn);
    /// Far memory has room again: requests response data again that were dropped for lack of it.
    void ask_again(QueuePair& qp);
    /// Response data were dropped for a local reason: requests them again, without using a retry.
    void repeat_dropped(QueuePair& qp);
    /// A response was skipped, so it was lost.
    void implied_nak(QueuePair& qp);
    /// Retransmits from the oldest unacknowledged PSN on.
    void go_back(QueuePair& qp);

  private:
    /// Returns false if no retry was left; the QP has then failed with RETRY_EXC_ERR and
    /// `vendor_err`.
    bool use_retry(QueuePair& qp, std::uint8_t vendor_err);

    CardContext& card_;
    Deadlines& deadlines_;
    Scheduler& scheduler_;
    SendQueue& send_queue_;
};

}  // namespace dingo::model
