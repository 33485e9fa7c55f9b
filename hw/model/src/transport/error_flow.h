// SPDX-License-Identifier: BSD-2-Clause
//
// What an error does to a QP at once: the QP stops, forgets what it had begun and gets a turn, in
// which flush.h completes all that is posted. Nothing is completed here, so code that completes may
// call it.
#pragma once

#include "deadlines.h"
#include "scheduler.h"
#include "transport_host.h"

namespace dingo::model {

class ErrorFlow {
  public:
    ErrorFlow(CardContext& card, TransportHost& host, Deadlines& deadlines, Scheduler& scheduler)
        : card_(card), host_(host), deadlines_(deadlines), scheduler_(scheduler) {}

    /// To ERR with event QP_FATAL, for a reason that has no completion (its CQ); nothing in ERR and
    /// RESET.
    void fail(QueuePair& qp);
    /// Moves the QP to ERR: it sends nothing more, takes nothing and waits for nothing.
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
