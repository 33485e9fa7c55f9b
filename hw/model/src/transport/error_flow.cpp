// SPDX-License-Identifier: BSD-2-Clause
//
// What an error does to a QP: the failed WQE completes, the QP stops, everything else that was
// posted is flushed once and in order, also what is posted later.
#include "core.h"

namespace dingo::model {
namespace {

constexpr WqeFault kFlushed{DINGO_WCS_WR_FLUSH_ERR, DINGO_VERR_FLUSHED};

}  // namespace

void Core::fail(Qp& qp) {
    if (qp.state == QpState::kErr || qp.state == QpState::kReset)
        return;
    enter_error(qp);
    event(qp, DINGO_EV_QP_FATAL);
}

void Core::enter_error(Qp& qp) {
    TransportState& t = *qp.transport;
    Requester& r = t.requester;
    Responder& p = t.responder;
    qp.state = QpState::kErr;
    if (!r.records.empty())
        r.next_index = r.records.front().index;  // the flush begins there
    r.records.clear();
    r.cursor = r.records.tail();
    r.send_psn = r.oldest_psn;
    r.outstanding_reads = 0;
    r.read_psns = 0;
    r.halted = false;
    r.ack_deadline = r.wait_deadline = p.wait_deadline = kNever;
    arm(qp);
    p.message = Responder::Message::kNone;
    if (response_qp_ == &qp)
        response_qp_ = nullptr;
    wake(qp);
}

void Core::enter_send_error(Qp& qp) {
    Requester& r = qp.transport->requester;
    if (!r.records.empty())
        r.next_index = r.records.front().index;
    r.records.clear();
    r.cursor = r.records.tail();
    r.new_psn = r.sent_psn = r.oldest_psn =
        r.send_psn;  // an interrupted message leaves no gap behind
    r.halted = false;
    r.wait_deadline = kNever;
    arm(qp);
    qp.state = QpState::kSqe;
    wake(qp);
}

void Core::fail_front(Qp& qp, WqeFault fault) {
    Requester& r = qp.transport->requester;
    if (r.records.empty())
        return;
    const SendRecord record = r.records.front();
    r.records.pop();
    if (r.records.empty())
        r.next_index = record.index + record.blocks;
    is_reliable(qp) ? enter_error(qp) : enter_send_error(qp);
    complete_send_error(qp, record.index, record.opcode, fault);
}

bool Core::flush(Qp& qp, unsigned burst, unsigned& used) {
    bool more = flush_sends(qp, burst, used);
    if (qp.state == QpState::kErr)
        more = flush_receives(qp, burst, used) || more;
    return more;
}

bool Core::flush_sends(Qp& qp, unsigned burst, unsigned& used) {
    Requester& r = qp.transport->requester;
    while (r.next_index != qp.sq_producer) {
        if (used >= burst)
            return true;
        ++used;
        const std::uint32_t index = r.next_index;
        send_wqe_.load(card_, qp,
                       index);  // for opcode and size; that it may be wrong no longer matters
        r.next_index += send_wqe_.blocks();
        complete_send_error(qp, index, send_wqe_.opcode(), kFlushed);
    }
    return false;
}

bool Core::flush_receives(Qp& qp, unsigned burst, unsigned& used) {
    Responder& p = qp.transport->responder;
    if (p.receive_held) {
        p.receive_held = false;
        post_receive_error(qp, p.receive->tag, DINGO_WC_RECV, kFlushed);
    }
    if (qp.srq) {
        last_wqe_event(qp);
        return false;
    }
    while (qp.rq.available() > 0) {
        if (used >= burst)
            return true;
        ++used;
        qp.rq.fetch(card_, receive_scratch_);
        post_receive_error(qp, receive_scratch_.tag, DINGO_WC_RECV, kFlushed);
    }
    return false;
}

void Core::last_wqe_event(Qp& qp) {
    TransportState& t = *qp.transport;
    if (t.last_wqe_reached)
        return;
    t.last_wqe_reached = true;
    event(qp, DINGO_EV_QP_LAST_WQE);
}

}  // namespace dingo::model
