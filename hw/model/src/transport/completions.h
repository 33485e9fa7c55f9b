// SPDX-License-Identifier: BSD-2-Clause
//
// Completion entries: one function for each kind. Owner bit and time stamp are the CQ's business. A
// CQ that takes no entry (overflow, bus error) fails the QP. An entry waits while data that it
// stands for, or the entry before it, are on their way to far memory.
#pragma once

#include "error_flow.h"
#include "far_work.h"
#include "send_wqe.h"

namespace dingo::model {

class Completions {
  public:
    Completions(CardContext& card, FarWork& far, ErrorFlow& errors)
        : card_(card), far_(far), errors_(errors) {}

    /// A send WQE that begins at block `index` is done; `byte_len`: what a READ or atomic brought.
    void send(QueuePair& qp, std::uint32_t index, std::uint8_t opcode, std::uint32_t byte_len);
    void send_error(QueuePair& qp, std::uint32_t index, std::uint8_t opcode, WqeFault fault);
    /// A receive WQE is done; `entry` is whole. False: the QP is in ERR.
    bool receive(QueuePair& qp, const dingo_cqe& entry);
    void receive_error(QueuePair& qp, std::uint32_t tag, std::uint8_t opcode, WqeFault fault);

    /// An entry that has waited. False: the QP is in ERR.
    bool post_held(QueuePair& qp, Half half, const dingo_cqe& entry);

  private:
    bool post(QueuePair& qp, Half half, const dingo_cqe& entry);

    CardContext& card_;
    FarWork& far_;
    ErrorFlow& errors_;
};

}  // namespace dingo::model
