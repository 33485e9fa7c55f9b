// SPDX-License-Identifier: BSD-2-Clause
//
// The one ACK or NAK that a responder owes. A newer one replaces an older one: an ACK acknowledges
// everything before it, so that a burst of requests is answered once.
#include "core.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

void Core::reply(Qp& qp, std::uint8_t s, std::uint32_t psn) {
    Responder& p = qp.transport->responder;
    p.reply_pending = true;
    p.reply_syndrome = s;
    p.reply_psn = psn & packet::kPsnMask;
    wake(qp);
}

void Core::nak_sequence(Qp& qp) {
    Responder& p = qp.transport->responder;
    if (p.nak_sent)
        return;  // one for each gap
    p.nak_sent = true;
    qp.count(DINGO_QP_SEQ_NAK_SENT);
    reply(qp, syndrome::kNakPsnSequence, p.expected_psn);
}

void Core::nak_not_ready(Qp& qp) {
    Responder& p = qp.transport->responder;
    p.nak_sent = p.rnr_sent = true;
    card_.count(DINGO_CARD_RNR_NAK_SENT);
    qp.count(DINGO_QP_RNR_NAK_SENT);
    reply(qp, syndrome::rnr(qp.attr.min_rnr_timer), p.expected_psn);
}

void Core::nak_fatal(Qp& qp, std::uint8_t s, std::uint32_t psn, std::uint8_t kind) {
    Responder& p = qp.transport->responder;
    if (qp.state == QpState::kErr)
        return;
    switch (s) {
        case syndrome::kNakInvalidRequest:
            card_.count(DINGO_CARD_RESP_INVALID_REQUESTS);
            break;
        case syndrome::kNakRemoteAccess:
            card_.count(DINGO_CARD_RESP_REMOTE_ACCESS_ERRORS);
            break;
        default:
            card_.count(DINGO_CARD_RESP_REMOTE_OP_ERRORS);
            break;
    }
    p.failed = true;
    reply(qp, s, psn);
    if (kind != 0)
        event(qp, kind);
}

}  // namespace dingo::model
