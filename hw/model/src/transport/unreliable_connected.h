// SPDX-License-Identifier: BSD-2-Clause
//
// UC responder: sends no responses; a message with a gap is dropped as a whole and its receive WQE
// is used for the next one. The sending half of UC is in requester.h.
#pragma once

#include "../card_context.h"
#include "../memory_region.h"
#include "dingo/packet/parse.h"
#include "error_flow.h"
#include "payload.h"
#include "receives.h"

namespace dingo::model {

class UnreliableConnected {
  public:
    UnreliableConnected(CardContext& card, MemoryTable& memory, FarWork& far, Payload& payload,
                        ErrorFlow& errors, Receives& receives)
        : card_(card),
          memory_(memory),
          far_(far),
          payload_(payload),
          errors_(errors),
          receives_(receives) {}

    /// Receives a packet for a UC QP in RTR or later.
    void receive_unreliable(QueuePair& qp, const packet::Packet& packet);

  private:
    /// Returns false if the packet does not fit; the message is dropped.
    bool unreliable_send(QueuePair& qp, const packet::Packet& packet);
    bool unreliable_write(QueuePair& qp, const packet::Packet& packet);
    /// Takes a receive. Returns false if there is none, or if it is invalid and the QP is in ERR.
    bool take_receive(QueuePair& qp);
    void drop_unreliable(QueuePair& qp);

    CardContext& card_;
    MemoryTable& memory_;
    FarWork& far_;
    Payload& payload_;
    ErrorFlow& errors_;
    Receives& receives_;
};

}  // namespace dingo::model
