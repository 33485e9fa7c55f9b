// SPDX-License-Identifier: BSD-2-Clause
#include "error_flow.h"

#include "transport_state.h"

namespace dingo::model {

void ErrorFlow::fail(QueuePair& qp) {
    if (qp.state == QpState::kErr || qp.state == QpState::kReset)
        return;
    enter_error(qp);
    host_.async_event(DINGO_EV_QP_FATAL, qp.qpn);
}

void ErrorFlow::enter_error(QueuePair& qp) {
    TransportState& t = *qp.transport;
    RequesterState& r = t.requester;
    ResponderState& p = t.responder;
    qp.state = QpState::kErr;
    // The memory of flushed requests may be changed while their frames are in flight: copy it now.
    card_.wire.gather();
    if (!r.records.empty())
        r.next_index = r.records.front().index;  // the flush begins there
    r.records.clear();
    r.cursor = r.records.tail();
    r.send_psn = r.oldest_psn;
    r.outstanding_reads = 0;
    r.read_psns = 0;
    r.halted = false;
    r.ack_deadline = r.wait_deadline = p.wait_deadline = kNever;
    deadlines_.arm(qp);
    p.message = ResponderState::Message::kNone;
    scheduler_.add(qp);
}

void ErrorFlow::enter_send_error(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    if (!r.records.empty())
        r.next_index = r.records.front().index;
    r.records.clear();
    r.cursor = r.records.tail();
    r.new_psn = r.sent_psn = r.oldest_psn = r.send_psn;  // an interrupted message leaves no gap
    r.halted = false;
    r.wait_deadline = kNever;
    deadlines_.arm(qp);
    qp.state = QpState::kSqe;
    scheduler_.add(qp);
}

}  // namespace dingo::model
