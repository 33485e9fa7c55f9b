// SPDX-License-Identifier: BSD-2-Clause
//
// Writes completion entries, one function per kind. The CQ sets owner bit and time stamp. A CQ that
// accepts no entry (overflow, bus error) fails the QP. An entry is delayed while its data, or the
// entry before it, are in flight to far memory.
#pragma once

#include "error_flow.h"
#include "far_work.h"
#include "send_wqe.h"

namespace dingo::model {

class Completions {
  public:
    Completions(CardContext& card, FarWork& far, ErrorFlow& errors)
        : card_(card), far_(far), errors_(errors) {}

    /// Completes the send WQE at block `index`; `byte_len`: length of a READ's or atomic's data.
    void send(QueuePair& qp, std::uint32_t index, std::uint8_t opcode, std::uint32_t byte_len);
    void send_error(QueuePair& qp, std::uint32_t index, std::uint8_t opcode, WqeFault fault);
    /// Completes a receive WQE with the finished `entry`. Returns false if the QP is in ERR.
    bool receive(QueuePair& qp, const dingo_cqe& entry);
    void receive_error(QueuePair& qp, std::uint32_t tag, std::uint8_t opcode, WqeFault fault);

    /// SHARE_INDEXES: writes sq_consumer after completions of send WQEs, unless one is delayed.
    void share_consumer(const QueuePair& qp);

    /// Writes an entry that was delayed. Returns false if the QP is in ERR.
    bool post_held(QueuePair& qp, Half half, const dingo_cqe& entry);

  private:
    bool post(QueuePair& qp, Half half, const dingo_cqe& entry);

    CardContext& card_;
    FarWork& far_;
    ErrorFlow& errors_;
};

}  // namespace dingo::model
