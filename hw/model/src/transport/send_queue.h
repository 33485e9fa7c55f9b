// SPDX-License-Identifier: BSD-2-Clause
//
// Send WQEs between their first packet and their completion: records in order, each completed when
// all before it have. The requester adds them, acknowledgements and errors end them.
#pragma once

#include "completions.h"
#include "deadlines.h"
#include "error_flow.h"
#include "scheduler.h"
#include "send_wqe.h"

namespace dingo::model {

/// Why a QP stopped sending.
enum class SendStop : std::uint8_t {
    kTurnOver,  ///< burst used up or wire busy: more to send at once
    kIdle,      ///< nothing posted, or not allowed to start
    kBlocked,   ///< until an acknowledgement or a timer
    kFetching,  ///< its payload is on the way from far memory
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

    /// Everything before `psn` is acknowledged: completes. False: a READ or atomic before it still
    /// waits.
    bool acknowledge(QueuePair& qp, std::uint32_t psn);
    /// acknowledge() and what follows from it. False: the response skipped a READ or atomic, or the
    /// QP failed.
    bool advance(QueuePair& qp, std::uint32_t psn);
    /// The peer answers: retries and timer start again, and what waited may be sent.
    void after_progress(QueuePair& qp);
    /// SQD: event SQ_DRAINED when everything begun has completed.
    void check_drained(QueuePair& qp);

    // --- errors
    /// `wqe` is the next of the send queue and cannot be executed: completes in its turn, and none
    /// behind it starts.
    void push_error(QueuePair& qp, const SendWqe& wqe, WqeFault fault);
    /// The same for the message whose packets are being sent.
    void fail_at_cursor(QueuePair& qp, WqeFault fault);
    /// Completes the oldest with `fault`; the QP goes to ERR, or to SQE when it is not reliable.
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
