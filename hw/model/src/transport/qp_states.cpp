// SPDX-License-Identifier: BSD-2-Clause
//
// Entry actions of the QP states. The command has checked the transition and stored the attributes.
#include "core.h"

namespace dingo::model {

void Core::qp_modified(Qp& qp, QpState old_state, std::uint32_t mask) {
    TransportState& t = *qp.transport;
    if (mask & DINGO_QPM_AV) {
        t.path_valid = false;
        t.peer_ports = {};  // the peer may have a new QP behind its number
    }
    if (mask & DINGO_QPM_RQ_PSN)
        t.responder.expected_psn = qp.attr.rq_psn & packet::kPsnMask;
    if (mask & DINGO_QPM_SQ_PSN) {
        Requester& r = t.requester;
        r.oldest_psn = r.send_psn = r.sent_psn = r.new_psn = qp.attr.sq_psn & packet::kPsnMask;
        r.ackreq_psn = r.oldest_psn - 1;
    }
    if (mask & DINGO_QPM_MAX_DEST_RD_ATOMIC)
        start_responder(qp);
    if (!(mask & DINGO_QPM_STATE))
        return;
    switch (qp.state) {
        case QpState::kReset:
            forget(qp);
            break;
        case QpState::kRts:
            if (old_state == QpState::kSqe) {  // what was posted before is flushed, not sent
                unsigned used = 0;
                flush_sends(qp, ~0U, used);
            }
            start_requester(qp);
            break;
        case QpState::kSqd:
            t.requester.drained = old_state == QpState::kSqd && t.requester.drained;
            check_drained(qp);
            break;
        case QpState::kErr:
            if (old_state != QpState::kErr) {
                send_owed_reply(qp);
                enter_error(qp);
            }
            break;
        default:  // INIT, RTR, SQE: nothing starts by itself
            break;
    }
}

void Core::start_requester(Qp& qp) {
    Requester& r = qp.transport->requester;
    r.retries_left = qp.attr.retry_cnt;
    r.rnr_left = qp.attr.rnr_retry;
    r.timeouts = 0;
    r.drained = false;
    wake(qp);
}

void Core::start_responder(Qp& qp) {
    Responder& p = qp.transport->responder;
    p.resources.assign(qp.attr.max_dest_rd_atomic, {});
    p.resource_next = p.resource_now = p.pending = 0;
}

void Core::forget(Qp& qp) {
    scheduler_.remove(qp);
    timers_.remove(qp);
    std::erase(stale_, &qp);
    if (response_qp_ == &qp)
        response_qp_ = nullptr;
    *qp.transport = {};
    qp.sq_producer = 0;
    qp.rq.producer = qp.rq.consumer = 0;
    memory_.unbind_windows_of(qp);
}

}  // namespace dingo::model
