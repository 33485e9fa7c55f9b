// SPDX-License-Identifier: BSD-2-Clause
//
// The one ACK or NAK that a responder owes. A newer one replaces an older one: an ACK acknowledges
// all requests before it, so a burst of requests is answered once. RNR NAKs: rnr.h.
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

/// Result of an attempt to send a response.
enum class Sent : std::uint8_t {
    kYes,
    kBusy,  ///< the wire is full
    kNo,    ///< it cannot be sent now, or not any more
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

    /// Owes an acknowledgement with `syndrome` (AETH) for `psn`. Delayed while data of earlier
    /// requests are in flight to far memory.
    void reply(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn);
    /// The same without delay. `msn`: number of messages that are complete in memory.
    void owe(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn, std::uint32_t msn);
    /// Owes a NAK "PSN sequence error" for the expected PSN; only one per gap.
    void nak_sequence(QueuePair& qp);
    /// Owes a NAK for `psn`; the QP moves to ERR once the NAK was sent. `kind`: event to raise
    /// (enum ev), 0: none.
    void nak_fatal(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn, std::uint8_t kind);

    /// Sends the owed ACK or NAK.
    Sent send_reply(QueuePair& qp);
    /// Sends an RNR NAK for `psn`, before the owed one. `msn`: number of messages before it.
    Sent send_rnr(QueuePair& qp, std::uint32_t psn, std::uint32_t msn);
    /// Called before the QP is destroyed or moved to ERR: acknowledges completed requests, so that
    /// the peer does not retransmit to a QP that no longer exists.
    void send_owed_reply(QueuePair& qp);

  private:
    /// Returns false if the wire is full.
    bool send(QueuePair& qp, std::uint32_t psn, packet::Aeth aeth);

    CardContext& card_;
    TransportHost& host_;
    FrameWriter& frame_;
    FarWork& far_;
    Scheduler& scheduler_;
    const Paths& paths_;
    ErrorFlow& errors_;
};

}  // namespace dingo::model
