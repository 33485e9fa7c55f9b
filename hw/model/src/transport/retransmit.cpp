// SPDX-License-Identifier: BSD-2-Clause
//
// Loss recovery: go-back-N to the oldest unacknowledged PSN, with counted retries, and the timers
// of a QP.
#include <algorithm>

#include "core.h"

namespace dingo::model {

void Core::go_back(Qp& qp) {
    Requester& r = qp.transport->requester;
    r.cursor = r.records.head();
    r.send_psn = r.oldest_psn;
    r.read_psns = 0;
    r.since_ackreq = 0;
    r.ackreq_psn = r.oldest_psn - 1;
    r.ack_deadline = kNever;  // starts with the first repeated packet
    arm(qp);
    wake(qp);
}

void Core::implied_nak(Qp& qp) {
    Requester& r = qp.transport->requester;
    if (qp.state != QpState::kRts && qp.state != QpState::kSqd)
        return;
    // Responses behind the lost one keep coming: one of them is enough. And those that a paused
    // region made us drop ourselves are asked for by the timeout.
    if (r.implied_nak || r.response_paused || !is_before(r.oldest_psn, r.send_psn))
        return;
    card_.count(DINGO_CARD_IMPLIED_NAK_SEQ_ERR);
    if (!use_retry(qp, DINGO_VERR_NAK_SEQ))
        return;
    r.implied_nak = true;
    go_back(qp);
}

bool Core::use_retry(Qp& qp, std::uint8_t vendor_err) {
    Requester& r = qp.transport->requester;
    if (r.retries_left > 0) {
        --r.retries_left;
        return true;
    }
    card_.count(DINGO_CARD_REQ_TRANSPORT_RETRIES_EXCEEDED);
    fail_front(qp, {DINGO_WCS_RETRY_EXC_ERR, vendor_err});
    return false;
}

void Core::pause_sending(Qp& qp, Nanoseconds delay) {
    Requester& r = qp.transport->requester;
    r.wait_deadline = card_.now + delay;
    note_time(qp, r.stale_wait);
    arm(qp);
}

void Core::restart_ack_timer(Qp& qp) {
    Requester& r = qp.transport->requester;
    // C9-140 allows T_tr to 4 T_tr. A peer that answers late is asked less and less often: each
    // timeout in a row waits longer, up to three times, which leaves room below four for us.
    constexpr std::uint8_t kMostAdded = 2;
    const Nanoseconds t_tr =
        packet::ack_timeout_ns(qp.attr.timeout) * (1U + std::min(r.timeouts, kMostAdded));
    const bool outstanding = is_before(r.oldest_psn, r.send_psn);
    r.ack_deadline = outstanding && t_tr != 0 ? card_.now + t_tr : kNever;
    note_time(qp, r.stale_ack);
    arm(qp);
}

void Core::note_time(Qp& qp, bool& stale) {
    if (running_)
        return;
    Requester& r = qp.transport->requester;
    if (!r.stale_ack && !r.stale_wait)
        stale_.push_back(&qp);
    stale = true;
}

void Core::correct_times() {
    const Nanoseconds late = card_.now - last_now_;
    for (Qp* const qp : stale_) {
        Requester& r = qp->transport->requester;
        if (r.stale_ack && r.ack_deadline != kNever)
            r.ack_deadline += late;
        if (r.stale_wait && r.wait_deadline != kNever)
            r.wait_deadline += late;
        r.stale_ack = r.stale_wait = false;
        arm(*qp);
    }
    stale_.clear();
    last_now_ = card_.now;
}

void Core::arm(Qp& qp) {
    TransportState& t = *qp.transport;
    timers_.set(qp, std::min({t.requester.ack_deadline, t.requester.wait_deadline,
                              t.responder.wait_deadline}));
}

void Core::fire(Qp& qp) {
    TransportState& t = *qp.transport;
    if (t.requester.wait_deadline <= card_.now) {
        t.requester.wait_deadline = kNever;
        wake(qp);
    }
    if (t.responder.wait_deadline <= card_.now) {
        t.responder.wait_deadline = kNever;
        wake(qp);
    }
    if (t.requester.ack_deadline <= card_.now) {
        t.requester.ack_deadline = kNever;
        ack_timeout(qp);
    }
    arm(qp);
}

void Core::ack_timeout(Qp& qp) {
    Requester& r = qp.transport->requester;
    if (is_before(r.ackreq_psn, r.oldest_psn)) {  // the peer owes no answer yet
        restart_ack_timer(qp);
        return;
    }
    card_.count(DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR);
    qp.count(DINGO_QP_TIMEOUTS);
    // Everything is asked for again now: responses that were late, not lost, are no second reason.
    r.implied_nak = true;
    const bool our_fault = r.response_paused;
    r.response_paused = false;
    if (!our_fault)
        ++r.timeouts;  // retry_cnt bounds it
    if (our_fault || use_retry(qp, DINGO_VERR_TIMEOUT))
        go_back(qp);
}

}  // namespace dingo::model
