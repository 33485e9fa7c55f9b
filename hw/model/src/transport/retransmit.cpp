// SPDX-License-Identifier: BSD-2-Clause
#include "retransmit.h"

#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {

void Retransmit::go_back(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    r.cursor = r.records.head();
    r.send_psn = r.oldest_psn;
    r.read_psns = 0;
    r.since_ackreq = 0;
    r.ackreq_psn = r.oldest_psn - 1;
    r.ack_deadline = kNever;  // starts when an answer is requested again
    deadlines_.arm(qp);
    scheduler_.add(qp);
}

void Retransmit::receive_sequence_nak(QueuePair& qp, std::uint32_t psn) {
    const RequesterState& r = qp.transport->requester;
    card_.count(DINGO_CARD_PACKET_SEQ_ERR);
    qp.count(DINGO_QP_SEQ_NAK_RCVD);
    if (!send_queue_.advance(qp, psn)) {  // a NAK acknowledges all packets before `psn`
        implied_nak(qp);
        return;
    }
    // otherwise already being retransmitted
    if (is_before(psn, r.send_psn) && use_retry(qp, DINGO_VERR_NAK_SEQ))
        go_back(qp);
}

void Retransmit::implied_nak(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    if (!is_sending(qp))
        return;
    // Responses after the lost one keep arriving: react to one of them only. Those dropped here
    // because far memory is full are requested again by ask_again().
    if (r.implied_nak || r.no_room || !is_before(r.oldest_psn, r.send_psn))
        return;
    card_.count(DINGO_CARD_IMPLIED_NAK_SEQ_ERR);
    if (!use_retry(qp, DINGO_VERR_NAK_SEQ))
        return;
    r.implied_nak = true;
    go_back(qp);
}

void Retransmit::ask_again(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    if (!is_sending(qp) || !r.no_room)
        return;  // already requested again
    r.no_room = false;
    repeat_dropped(qp);
}

void Retransmit::repeat_dropped(QueuePair& qp) {
    qp.transport->requester.implied_nak = true;  // later responses are still in flight
    go_back(qp);
}

bool Retransmit::use_retry(QueuePair& qp, std::uint8_t vendor_err) {
    RequesterState& r = qp.transport->requester;
    if (r.retries_left > 0) {
        --r.retries_left;
        return true;
    }
    card_.count(DINGO_CARD_REQ_TRANSPORT_RETRIES_EXCEEDED);
    send_queue_.fail_front(qp, {DINGO_WCS_RETRY_EXC_ERR, vendor_err});
    return false;
}

void Retransmit::ack_timeout(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    if (is_before(r.ackreq_psn, r.oldest_psn))
        return;  // the peer owes no answer yet: its time begins when one is requested
    card_.count(DINGO_CARD_LOCAL_ACK_TIMEOUT_ERR);
    qp.count(DINGO_QP_TIMEOUTS);
    // All is requested again now: late responses are no reason to do so a second time.
    r.implied_nak = true;
    const bool our_fault = r.no_room;
    r.no_room = false;
    if (!our_fault)
        ++r.timeouts;  // bounded by retry_cnt
    if (our_fault || use_retry(qp, DINGO_VERR_TIMEOUT))
        go_back(qp);
}

}  // namespace dingo::model
