// SPDX-License-Identifier: BSD-2-Clause
//
// The answering half of RC: requests are checked (responder.cpp) and executed
// (responder_execute.cpp); the QP's turn sends the responses.
#pragma once

#include <cstdint>

#include "../card_context.h"
#include "../memory_region.h"
#include "ack_nak.h"
#include "dingo/packet/parse.h"
#include "duplicates.h"
#include "error_flow.h"
#include "paths.h"
#include "payload.h"
#include "read_responses.h"
#include "receives.h"
#include "rnr.h"

namespace dingo::model {

class Responder {
  public:
    Responder(CardContext& card, MemoryTable& memory, FarWork& far, const Paths& paths,
              Payload& payload, ErrorFlow& errors, Receives& receives, AckNak& ack_nak, Rnr& rnr,
              ReadResponses& responses, Duplicates& duplicates)
        : card_(card),
          memory_(memory),
          far_(far),
          paths_(paths),
          payload_(payload),
          errors_(errors),
          receives_(receives),
          ack_nak_(ack_nak),
          rnr_(rnr),
          responses_(responses),
          duplicates_(duplicates) {}

    /// Handles a request for an RC QP in RTR or later.
    void receive_request(QueuePair& qp, const packet::Packet& packet);
    /// Sends READ responses and atomic acknowledgements, then the ACK or NAK: up to `burst`
    /// packets, counted in `used`. Returns true if there is more to send at once.
    bool turn(QueuePair& qp, unsigned burst, unsigned& used);

  private:
    // --- responder.cpp: one function per check, in the order of the specification
    bool check_psn(QueuePair& qp, const packet::Packet& packet);
    bool check_opcode_sequence(QueuePair& qp, const packet::Packet& packet);
    bool check_opcode_valid(QueuePair& qp, const packet::Packet& packet);
    bool check_resource(QueuePair& qp, const packet::Packet& packet);
    bool check_length(QueuePair& qp, const packet::Packet& packet);
    bool check_rkey(QueuePair& qp, const packet::Packet& packet);
    /// Handles a failed key check; returns true for kOk.
    bool check_remote(QueuePair& qp, KeyVerdict verdict);

    // --- responder_execute.cpp
    void execute(QueuePair& qp, const packet::Packet& packet);
    bool execute_send(QueuePair& qp, const packet::Packet& packet);
    bool execute_write(QueuePair& qp, const packet::Packet& packet);
    void execute_read(QueuePair& qp, const packet::Packet& packet);
    void execute_atomic(QueuePair& qp, const packet::Packet& packet);
    void execute_far_atomic(QueuePair& qp, const packet::Packet& packet, const MemoryRange& range);
    /// Schedules the response with the old value.
    void answer_atomic(QueuePair& qp, const packet::Packet& packet, std::uint64_t original);
    bool finish_message(QueuePair& qp, const packet::Packet& packet, std::uint32_t bytes);

    CardContext& card_;
    MemoryTable& memory_;
    FarWork& far_;
    const Paths& paths_;
    Payload& payload_;
    ErrorFlow& errors_;
    Receives& receives_;
    AckNak& ack_nak_;
    Rnr& rnr_;
    ReadResponses& responses_;
    Duplicates& duplicates_;
};

}  // namespace dingo::model
