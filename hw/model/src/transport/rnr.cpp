// SPDX-License-Identifier: BSD-2-Clause
#include "rnr.h"

#include "dingo/packet/aeth.h"
#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

void Rnr::nak_not_ready(QueuePair& qp) {
    ResponderState& p = qp.transport->responder;
    p.nak_sent = p.rnr_sent = true;
    card_.count(DINGO_CARD_RNR_NAK_SENT);
    qp.count(DINGO_QP_RNR_NAK_SENT);
    ack_nak_.reply(qp, syndrome::rnr(qp.attr.min_rnr_timer), p.expected_psn);
}

void Rnr::receive_rnr_nak(QueuePair& qp, std::uint8_t s, std::uint32_t psn) {
    constexpr std::uint8_t kForEver = 7;
    RequesterState& r = qp.transport->requester;
    card_.count(DINGO_CARD_RNR_NAK_RETRY_ERR);
    qp.count(DINGO_QP_RNR_NAK_RCVD);
    if (!send_queue_.advance(qp, psn)) {
        retransmit_.implied_nak(qp);
        return;
    }
    if (!is_before(psn, r.send_psn))
        return;  // already waiting for it
    if (qp.attr.rnr_retry != kForEver) {
        if (r.rnr_left == 0) {
            card_.count(DINGO_CARD_REQ_RNR_RETRIES_EXCEEDED);
            send_queue_.fail_front(qp, {DINGO_WCS_RNR_RETRY_EXC_ERR, DINGO_VERR_RNR});
            return;
        }
        --r.rnr_left;
    }
    retransmit_.go_back(qp);
    deadlines_.pause_sending(qp, packet::rnr_timer_ns(syndrome::value(s)));
}

}  // namespace dingo::model
