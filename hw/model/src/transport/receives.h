// SPDX-License-Identifier: BSD-2-Clause
//
// Receive WQEs, from the ring to their completion. A message of one packet uses the card's copy; a
// longer one keeps its own (ResponderState::receive) until its last packet.
#pragma once

#include "../receive_queue.h"
#include "completions.h"
#include "dingo/packet/parse.h"
#include "transport_state.h"

namespace dingo::model {

class Receives {
  public:
    Receives(CardContext& card, TransportHost& host, FarWork& far, Completions& completions)
        : card_(card), host_(host), far_(far), completions_(completions) {}

    // --- the WQE of the packet that is being executed
    /// A packet comes: nothing is taken for it yet.
    void begin_packet() noexcept { current_ = nullptr; }
    /// Takes the WQE of the message in progress, or else the next one of the QP's RQ or SRQ.
    /// kEmpty also while too many completions wait for far memory.
    /// kBad, kBusError: fail() completes it. A bus error stops an SRQ, with event SRQ_ERR.
    ReceiveRing::Fetch take(QueuePair& qp);
    [[nodiscard]] bool taken() const noexcept { return current_ != nullptr; }
    /// What take() took.
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): only after taken()
    [[nodiscard]] const ReceiveWqe& current() const noexcept { return *current_; }
    /// Bytes that fit into it.
    [[nodiscard]] std::uint64_t capacity() const;

    // --- what becomes of it
    /// Back to where take() found it: the packet is not executed.
    void put_back(QueuePair& qp);
    /// The message goes on: its next packet takes the same.
    void hold(QueuePair& qp);
    /// Out of the ring for good: event SRQ_LIMIT when fewer are left than the SRQ's limit.
    void consumed(QueuePair& qp);
    /// The message of `bytes` is whole, `packet` was its last. False: the QP is in ERR.
    bool complete(QueuePair& qp, const packet::Packet& packet, std::uint32_t bytes);
    void fail(QueuePair& qp, WqeFault fault);

    // --- in ERR
    /// Completes the WQE of a message in progress, if there is one.
    void abandon_held(QueuePair& qp, WqeFault fault);
    /// Completes the next WQE of the QP's own RQ.
    void abandon_next(QueuePair& qp, WqeFault fault);

  private:
    CardContext& card_;
    TransportHost& host_;
    FarWork& far_;
    Completions& completions_;
    ReceiveWqe* current_ = nullptr;
    ReceiveWqe scratch_;
};

}  // namespace dingo::model
