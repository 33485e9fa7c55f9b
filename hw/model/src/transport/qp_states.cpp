// SPDX-License-Identifier: BSD-2-Clause
//
// Entry actions of the QP states. The command has checked the transition and stored the attributes.
#include "dingo/packet/psn.h"
#include "parts.h"
#include "transport_state.h"

namespace dingo::model {
namespace {

void start_requester(const QueuePair& qp, RequesterState& r) {
    r.retries_left = qp.attr.retry_cnt;
    r.rnr_left = qp.attr.rnr_retry;
    r.timeouts = 0;
}

}  // namespace

void Transport::qp_modified(QueuePair& qp, QpState old_state, std::uint32_t mask) {
    TransportState& t = *qp.transport;
    if (mask & DINGO_QPM_AV) {
        t.path_valid = false;
        t.peer = {};  // the peer may have a new QP with that number
    }
    if (mask & DINGO_QPM_RQ_PSN)
        t.responder.expected_psn = qp.attr.rq_psn & packet::kPsnMask;
    if (mask & DINGO_QPM_SQ_PSN) {
        RequesterState& r = t.requester;
        r.oldest_psn = r.send_psn = r.sent_psn = r.new_psn = qp.attr.sq_psn & packet::kPsnMask;
        r.ackreq_psn = r.oldest_psn - 1;
    }
    if (mask & DINGO_QPM_MAX_DEST_RD_ATOMIC)
        ReadResponses::resize(t.responder, qp.attr.max_dest_rd_atomic);
    if (!(mask & DINGO_QPM_STATE))
        return;
    switch (qp.state) {
        case QpState::kReset:
            forget(qp);
            break;
        case QpState::kRts:
            if (old_state == QpState::kSqe) {  // posts made before are flushed, not sent
                unsigned used = 0;
                parts_->flush.flush_sends(qp, ~0U, used);
            }
            start_requester(qp, t.requester);
            parts_->scheduler.add(qp);
            break;
        case QpState::kSqd:
            t.requester.drained = old_state == QpState::kSqd && t.requester.drained;
            parts_->send_queue.check_drained(qp);
            break;
        case QpState::kErr:
            if (old_state != QpState::kErr) {
                parts_->ack_nak.send_owed_reply(qp);
                parts_->errors.enter_error(qp);
            }
            break;
        default:  // INIT, RTR, SQE: nothing to do
            break;
    }
}

void Transport::forget(QueuePair& qp) {
    parts_->scheduler.remove(qp);
    parts_->rooms.remove(qp);
    parts_->deadlines.forget(qp);
    parts_->completer.forget(qp);
    parts_->far.forget(qp);
    *qp.transport = {};
    qp.sq_producer = 0;
    qp.pushed.reset();
    qp.rq.producer = qp.rq.consumer = 0;
    qp.rq.record = 0;
    qp.indexes = 0;
    parts_->memory.unbind_windows_of(qp);
}

}  // namespace dingo::model
