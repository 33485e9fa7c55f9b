// SPDX-License-Identifier: BSD-2-Clause
//
// Receive WQEs, from the ring to their completion. A message of one packet uses the card's copy; a
// longer one has its own copy (ResponderState::receive) until its last packet.
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
    /// A packet begins: no WQE is taken for it yet.
    void begin_packet() noexcept { current_ = nullptr; }
    /// Takes the WQE of the message in progress, or else the next one of the QP's RQ or SRQ.
    /// kEmpty: also while too many completions wait for far memory.
    /// kBad, kBusError: complete it with fail(). A bus error stops an SRQ, with event SRQ_ERR.
    ReceiveRing::Fetch take(QueuePair& qp);
    [[nodiscard]] bool taken() const noexcept { return current_ != nullptr; }
    /// The WQE taken by take().
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): only after taken()
    [[nodiscard]] const ReceiveWqe& current() const noexcept { return *current_; }
    /// Number of bytes that fit into it; at most MAX_MSG.
    [[nodiscard]] std::uint64_t capacity() const;

    // --- its outcome
    /// Returns it to the ring: the packet is not executed.
    void put_back(QueuePair& qp);
    /// The message continues: its next packet uses the same WQE.
    void hold(QueuePair& qp);
    /// Removes it from the ring for good; raises event SRQ_LIMIT if fewer are left than the SRQ's
    /// limit.
    void consumed(QueuePair& qp);
    /// Completes the message of `bytes` bytes; `packet` was its last. Returns false if the QP is in
    /// ERR.
    bool complete(QueuePair& qp, const packet::Packet& packet, std::uint32_t bytes);
    void fail(QueuePair& qp, WqeFault fault);

    // --- in ERR
    /// Completes the WQE of a message in progress, if any.
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
