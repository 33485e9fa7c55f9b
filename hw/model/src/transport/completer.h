// SPDX-License-Identifier: BSD-2-Clause
//
// Handles responses at the requester: acknowledgements, NAKs, READ data, atomic results.
#pragma once

#include <cstdint>
#include <span>

#include "../card_context.h"
#include "dingo/packet/parse.h"
#include "payload.h"
#include "retransmit.h"
#include "rnr.h"
#include "send_queue.h"

namespace dingo::model {

class Completer {
  public:
    Completer(CardContext& card, Payload& payload, SendQueue& send_queue, Retransmit& retransmit,
              Rnr& rnr)
        : card_(card),
          payload_(payload),
          send_queue_(send_queue),
          retransmit_(retransmit),
          rnr_(rnr) {}

    /// Receives a response for an RC QP in RTS or SQD. A response to nothing outstanding is dropped
    /// and counted.
    void receive_response(QueuePair& qp, const packet::Packet& packet);

    /// Drops references to `qp`, which may be destroyed then.
    void forget(const QueuePair& qp) noexcept;

  private:
    void receive_acknowledge(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn);
    void receive_fatal_nak(QueuePair& qp, std::uint8_t syndrome, std::uint32_t psn);
    void receive_read_data(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn);
    void receive_atomic_ack(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn);
    void bad_response(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn);
    /// Counts a response without effect.
    void drop(const packet::Packet& packet);
    /// Scatters data of `packet` to the oldest WQE's entries. Returns false if they were not
    /// accepted: the QP has failed, a region is paused, or far memory is full.
    bool take_data(QueuePair& qp, const packet::Packet& packet, std::uint32_t offset,
                   std::span<const std::byte> data);

    CardContext& card_;
    Payload& payload_;
    SendQueue& send_queue_;
    Retransmit& retransmit_;
    Rnr& rnr_;
    // One per card: it can be reloaded from the send queue.
    SendWqe wqe_;                        ///< READ or atomic to which responses are scattered
    const QueuePair* wqe_qp_ = nullptr;  ///< owner of the WQE
    std::uint32_t wqe_index_ = 0;        ///< its first block
};

}  // namespace dingo::model
