// SPDX-License-Identifier: BSD-2-Clause
//
// Unreliable datagrams, including the general services QP: one message, one packet, no response.
#pragma once

#include <cstddef>
#include <span>

#include "../card_context.h"
#include "../port.h"
#include "deadlines.h"
#include "dingo/packet/parse.h"
#include "error_flow.h"
#include "frame_writer.h"
#include "local_ops.h"
#include "paths.h"
#include "payload.h"
#include "receives.h"
#include "send_queue.h"

namespace dingo::model {

class Datagram {
  public:
    Datagram(CardContext& card, const Port& port, FrameWriter& frame, FarWork& far,
             Deadlines& deadlines, Paths& paths, Payload& payload, ErrorFlow& errors,
             Completions& completions, Receives& receives, SendQueue& send_queue,
             LocalOps& local_ops)
        : card_(card),
          port_(port),
          frame_(frame),
          far_(far),
          deadlines_(deadlines),
          paths_(paths),
          payload_(payload),
          errors_(errors),
          completions_(completions),
          receives_(receives),
          send_queue_(send_queue),
          local_ops_(local_ops) {}

    /// Sends up to `burst` datagrams; adds their number to `used`.
    SendStop turn(QueuePair& qp, unsigned burst, unsigned& used);
    /// Called when a QP is destroyed: sends as many of its posted datagrams as the wire accepts.
    void send_last_datagrams(QueuePair& qp);
    /// Receives a datagram for a QP in RTR or later; `frame` contains the network header that is
    /// written to the start of the receive buffer.
    void receive_datagram(QueuePair& qp, const packet::Packet& packet,
                          std::span<const std::byte> frame);

  private:
    SendStop send_datagram(QueuePair& qp);
    /// Returns the number of this card's QPs in the destination group.
    [[nodiscard]] unsigned own_members(const dingo_wqe_ud& av) const;

    CardContext& card_;
    const Port& port_;
    FrameWriter& frame_;
    FarWork& far_;
    Deadlines& deadlines_;
    Paths& paths_;
    Payload& payload_;
    ErrorFlow& errors_;
    Completions& completions_;
    Receives& receives_;
    SendQueue& send_queue_;
    LocalOps& local_ops_;
    SendWqe wqe_;  ///< the WQE of the current turn
};

}  // namespace dingo::model
