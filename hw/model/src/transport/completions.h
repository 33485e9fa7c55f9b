// SPDX-License-Identifier: BSD-2-Clause
//
// Completion entries: one function for each kind. Owner bit and time stamp are the CQ's business. A
// CQ that takes no entry (overflow, bus error) fails the QP.
#pragma once

#include "error_flow.h"
#include "send_wqe.h"

namespace dingo::model {

class Completions {
  public:
    Completions(CardContext& card, ErrorFlow& errors) : card_(card), errors_(errors) {}

    /// A send WQE that begins at block `index` is done; `byte_len`: what a READ or atomic brought.
    void send(Qp& qp, std::uint32_t index, std::uint8_t opcode, std::uint32_t byte_len);
    void send_error(Qp& qp, std::uint32_t index, std::uint8_t opcode, WqeFault fault);
    /// A receive WQE is done; `entry` is whole. False: the QP is in ERR.
    bool receive(Qp& qp, const dingo_cqe& entry);
    void receive_error(Qp& qp, std::uint32_t tag, std::uint8_t opcode, WqeFault fault);

  private:
    CardContext& card_;
    ErrorFlow& errors_;
};

}  // namespace dingo::model
