// SPDX-License-Identifier: BSD-2-Clause
//
// Immediate effects of an error on a QP: it stops, drops what it had begun, and is scheduled for a
// turn in which flush.h completes all posted WQEs. Nothing is completed here, so code that
// completes may call it.
#pragma once

#include "deadlines.h"
#include "scheduler.h"
#include "transport_host.h"

namespace dingo::model {

class ErrorFlow {
  public:
    ErrorFlow(CardContext& card, TransportHost& host, Deadlines& deadlines, Scheduler& scheduler)
        : card_(card), host_(host), deadlines_(deadlines), scheduler_(scheduler) {}

    /// Moves the QP to ERR with event QP_FATAL, for errors without a completion (of its CQ). No
    /// effect in ERR and RESET.
    void fail(QueuePair& qp);
    /// Moves the QP to ERR: it sends and receives nothing more and has no deadlines.
    void enter_error(QueuePair& qp);
    /// Moves a UC or UD QP to SQE: the send queue stops, the QP still receives.
    void enter_send_error(QueuePair& qp);

  private:
    CardContext& card_;
    TransportHost& host_;
    Deadlines& deadlines_;
    Scheduler& scheduler_;
};

}  // namespace dingo::model
