// SPDX-License-Identifier: BSD-2-Clause
#include "ack_nak.h"

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "transport_state.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

void AckNak::reply(QueuePair& qp, std::uint8_t s, std::uint32_t psn) {
    if (!far_.holds(qp, Half::kReceive)) [[likely]]
        owe(qp, s, psn, qp.transport->responder.msn);
    else
        far_.hold_reply(qp, s, psn);
}

void AckNak::owe(QueuePair& qp, std::uint8_t s, std::uint32_t psn, std::uint32_t msn) {
    ResponderState& p = qp.transport->responder;
    p.reply_pending = true;
    p.reply_syndrome = s;
    p.reply_psn = psn & packet::kPsnMask;
    p.reply_msn = msn;
    scheduler_.add(qp);
}

void AckNak::nak_sequence(QueuePair& qp) {
    ResponderState& p = qp.transport->responder;
    if (p.nak_sent)
        return;  // one per gap
    p.nak_sent = true;
    qp.count(DINGO_QP_SEQ_NAK_SENT);
    reply(qp, syndrome::kNakPsnSequence, p.expected_psn);
}

void AckNak::nak_fatal(QueuePair& qp, std::uint8_t s, std::uint32_t psn, std::uint8_t kind) {
    ResponderState& p = qp.transport->responder;
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
        host_.async_event(kind, qp.qpn);
}

bool AckNak::send(QueuePair& qp, std::uint32_t psn, packet::Aeth aeth) {
    packet::TransportHeaders headers;
    headers.bth.opcode = packet::Opcode::kRcAck;
    headers.bth.migreq = true;
    headers.bth.dest_qp = qp.attr.dest_qpn;
    headers.bth.psn = psn;
    headers.aeth = aeth;
    if (!frame_.open(qp.transport->path, headers, 0))
        return false;
    frame_.send(qp);
    return true;
}

Sent AckNak::send_reply(QueuePair& qp) {
    ResponderState& p = qp.transport->responder;
    // The MSN counts messages complete in memory (9.7.5); those executed since may not be.
    const std::uint32_t msn = far_.holds(qp, Half::kReceive) ? p.reply_msn : p.msn;
    if (!send(qp, p.reply_psn, {p.reply_syndrome, msn}))
        return Sent::kBusy;
    p.reply_pending = false;
    if (syndrome::is_ack(p.reply_syndrome))
        qp.count(DINGO_QP_ACKS_SENT);
    if (p.failed)  // the fatal NAK was sent
        errors_.enter_error(qp);
    return Sent::kYes;
}

Sent AckNak::send_rnr(QueuePair& qp, std::uint32_t psn, std::uint32_t msn) {
    if (!send(qp, psn, {syndrome::rnr(qp.attr.min_rnr_timer), msn & packet::kPsnMask}))
        return Sent::kBusy;
    card_.count(DINGO_CARD_RNR_NAK_SENT);
    qp.count(DINGO_QP_RNR_NAK_SENT);
    return Sent::kYes;
}

void AckNak::send_owed_reply(QueuePair& qp) {
    const ResponderState& p = qp.transport->responder;
    if (p.reply_pending && !p.failed && p.pending == 0 && paths_.of(qp))
        send_reply(qp);
}

}  // namespace dingo::model
