// SPDX-License-Identifier: BSD-2-Clause
//
// Send WQEs between their first packet and their completion: records in order, each completed after
// all before it. The requester adds them; acknowledgements and errors complete them.
#pragma once

#include "completions.h"
#include "deadlines.h"
#include "error_flow.h"
#include "scheduler.h"
#include "send_wqe.h"

namespace dingo::model {

/// Why a QP stopped sending.
enum class SendStop : std::uint8_t {
    kTurnOver,  ///< burst used up or wire full: more to send at once
    kIdle,      ///< nothing posted, or not allowed to start
    kBlocked,   ///< waits for an acknowledgement or a timer
    kFetching,  ///< payload is in flight from far memory
};

class SendQueue {
  public:
    SendQueue(CardContext& card, TransportHost& host, FarWork& far, Deadlines& deadlines,
              Scheduler& scheduler, ErrorFlow& errors, Completions& completions)
        : card_(card),
          host_(host),
          far_(far),
          deadlines_(deadlines),
          scheduler_(scheduler),
          errors_(errors),
          completions_(completions) {}

    /// Acknowledges all packets before `psn` and completes their WQEs. Returns false if a READ or
    /// atomic before `psn` still waits for data.
    bool acknowledge(QueuePair& qp, std::uint32_t psn);
    /// acknowledge() and its consequences. Returns false if the response skipped a READ or atomic,
    /// or the QP has failed.
    bool advance(QueuePair& qp, std::uint32_t psn);
    /// The peer has answered: resets retries and timer, and schedules waiting packets.
    void after_progress(QueuePair& qp);
    /// SQD: raises event SQ_DRAINED once everything begun has completed.
    void check_drained(QueuePair& qp);

    // --- errors
    /// `wqe`, the next one of the send queue, cannot be executed: it completes in order, and none
    /// after it starts.
    void push_error(QueuePair& qp, const SendWqe& wqe, WqeFault fault);
    /// The same for the message that is being sent.
    void fail_at_cursor(QueuePair& qp, WqeFault fault);
    /// Completes the oldest WQE with `fault`; the QP moves to ERR, or to SQE if it is not reliable.
    void fail_front(QueuePair& qp, WqeFault fault);

  private:
    void complete_front(QueuePair& qp);

    CardContext& card_;
    TransportHost& host_;
    FarWork& far_;
    Deadlines& deadlines_;
    Scheduler& scheduler_;
    ErrorFlow& errors_;
    Completions& completions_;
};

}  // namespace dingo::model
