// SPDX-License-Identifier: BSD-2-Clause
//
// The one ACK or NAK that a responder owes. A newer one replaces an older one: an ACK acknowledges
// everything before it, so that a burst of requests is answered once. RNR NAKs: rnr.h.
#pragma once

#include <cstdint>

#include "../card_context.h"
#include "error_flow.h"
#include "far_work.h"
#include "frame_writer.h"
#include "paths.h"
#include "scheduler.h"
#include "transport_host.h"

namespace dingo::model {

/// What became of a response that was to be sent.
enum class Sent : std::uint8_t {
    kYes,
    kBusy,  ///< the wire took nothing
    kNo,    ///< there is a reason not to send it now, or any more
};

class AckNak {
  public:
    AckNak(CardContext& card, TransportHost& host, FrameWriter& frame, FarWork& far,
           Scheduler& scheduler, const Paths& paths, ErrorFlow& errors)
        : card_(card),
          host_(host),
          frame_(frame),
          far_(far),
          scheduler_(scheduler),
          paths_(paths),
          errors_(errors) {}

    /// Owes an acknowledgement with `syndrome` (AETH) for `psn`.
    /// When data of earlier requests are on their way to far memory, it waits for them.
    void reply(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn);
    /// The same, waiting for nothing. `msn`: messages that are complete in memory.
    void owe(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn, std::uint32_t msn);
    /// Owes a NAK for the expected PSN: packets are missing. One for each gap.
    void nak_sequence(QueuePair& qp);
    /// Owes a NAK for `psn`; the QP goes to ERR when it has left. `kind` = enum ev of the event,
    /// 0 = none.
    void nak_fatal(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn, std::uint8_t kind);

    /// Sends the ACK or NAK that is owed.
    Sent send_reply(QueuePair& qp);
    /// Called when the owner of the QP goes: acknowledges what it saw completed, so that the peer
    /// does not retransmit to a QP that is gone.
    void send_owed_reply(QueuePair& qp);

  private:
    CardContext& card_;
    TransportHost& host_;
    FrameWriter& frame_;
    FarWork& far_;
    Scheduler& scheduler_;
    const Paths& paths_;
    ErrorFlow& errors_;
};

}  // namespace dingo::model
