// SPDX-License-Identifier: BSD-2-Clause
//
// Requests that were executed before. SEND and WRITE: acknowledged again, not executed (C9-105).
// READ: read again as far as a saved resource allows. Atomic: the saved result. Older ones are
// dropped silently.
#pragma once

#include "../card_context.h"
#include "ack_nak.h"
#include "dingo/packet/parse.h"
#include "read_responses.h"

namespace dingo::model {

class Duplicates {
  public:
    Duplicates(CardContext& card, AckNak& ack_nak, ReadResponses& responses)
        : card_(card), ack_nak_(ack_nak), responses_(responses) {}

    /// Handles a request with a PSN before the expected one.
    void receive_duplicate(QueuePair& qp, const packet::Packet& packet);

  private:
    void repeat_read(QueuePair& qp, const packet::Packet& packet);
    void repeat_atomic(QueuePair& qp, const packet::Packet& packet);

    CardContext& card_;
    AckNak& ack_nak_;
    ReadResponses& responses_;
};

}  // namespace dingo::model
