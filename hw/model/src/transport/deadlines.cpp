// SPDX-License-Identifier: BSD-2-Clause
#include "deadlines.h"

#include <algorithm>

#include "dingo/packet/aeth.h"
#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {

void Deadlines::arm(QueuePair& qp) {
    TransportState& t = *qp.transport;
    timers_.set(qp, std::min({t.requester.ack_deadline, t.requester.wait_deadline,
                              t.responder.wait_deadline}));
}

void Deadlines::pause_sending(QueuePair& qp, Nanoseconds delay) {
    RequesterState& r = qp.transport->requester;
    r.wait_deadline = card_.now + delay;
    note_time(qp, r.stale_wait);
    arm(qp);
}

void Deadlines::pause_responses(QueuePair& qp) {
    qp.transport->responder.wait_deadline = card_.now + kPauseRetry;
    arm(qp);
}

void Deadlines::restart_ack(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    // C9-140 allows T_tr to 4 T_tr. A peer that answers late is asked less often: each consecutive
    // timeout waits longer, up to three times T_tr, which leaves a margin below four.
    constexpr std::uint8_t kMostAdded = 2;
    const Nanoseconds t_tr =
        packet::ack_timeout_ns(qp.attr.timeout) * (1U + std::min(r.timeouts, kMostAdded));
    const bool outstanding = is_before(r.oldest_psn, r.send_psn);
    r.ack_deadline = outstanding && t_tr != 0 ? card_.now + t_tr : kNever;
    note_time(qp, r.stale_ack);
    arm(qp);
}

void Deadlines::note_time(QueuePair& qp, bool& stale) {
    if (running_)
        return;
    RequesterState& r = qp.transport->requester;
    if (!r.stale_ack && !r.stale_wait)
        stale_.push_back(&qp);
    stale = true;
}

void Deadlines::correct_times() {
    const Nanoseconds late = card_.now - last_now_;
    for (QueuePair* const qp : stale_) {
        RequesterState& r = qp->transport->requester;
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

void Deadlines::begin_run() {
    correct_times();
    running_ = true;
}

void Deadlines::end_run() {
    running_ = false;
    timers_.settle();
}

void Deadlines::forget(QueuePair& qp) {
    timers_.remove(qp);
    std::erase(stale_, &qp);
}

}  // namespace dingo::model
