// SPDX-License-Identifier: BSD-2-Clause
//
// Checks requests in the order of the specification. A check that fails has already arranged what
// the peer gets, and the request is done.
#include "responder.h"

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "dingo/packet/train.h"
#include "qp_math.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

void Responder::receive_request(QueuePair& qp, const packet::Packet& packet) {
    if (qp.transport->responder.failed) {
        card_.count(DINGO_CARD_RX_DROP_QP_STATE);
        return;
    }
    receives_.begin_packet();
    if (check_psn(qp, packet) && check_opcode_sequence(qp, packet) &&
        check_opcode_valid(qp, packet) && check_resource(qp, packet) && check_length(qp, packet) &&
        check_rkey(qp, packet))
        execute(qp, packet);
}

bool Responder::turn(QueuePair& qp, unsigned burst, unsigned& used) {
    ResponderState& p = qp.transport->responder;
    if (p.pending == 0 && !p.reply_pending)
        return false;
    if (!paths_.of(qp)) {  // the source address was removed: no response is possible
        ReadResponses::drop_all(p);
        p.reply_pending = false;
        if (p.failed)
            errors_.enter_error(qp);
        return false;
    }
    while (used < burst) {
        if (p.pending > 0) {
            if (const Sent sent = responses_.send_response(qp); sent != Sent::kYes)
                return sent == Sent::kBusy;
            used += responses_.packets_sent();
            continue;
        }
        if (!p.reply_pending)
            return false;
        if (ack_nak_.send_reply(qp) == Sent::kBusy)
            return true;
        ++used;
        return false;
    }
    return p.pending > 0 || p.reply_pending;
}

bool Responder::check_psn(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
    const std::int32_t ahead = packet::psn_diff(packet.bth.psn, p.expected_psn);
    if (ahead == 0) {
        qp.transport->peer.requests = packet.udp_sport;
        p.nak_sent = p.rnr_sent = false;
        return true;
    }
    if (ahead < 0) {
        duplicates_.receive_duplicate(qp, packet);
        return false;
    }
    if (p.rnr_sent)
        return false;  // sent before the peer saw the RNR NAK
    card_.count(DINGO_CARD_OUT_OF_SEQUENCE, packet.packets);
    qp.count(DINGO_QP_OUT_OF_SEQUENCE, packet.packets);
    ack_nak_.nak_sequence(qp);
    return false;
}

bool Responder::check_opcode_sequence(QueuePair& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    bool in_order = false;
    switch (qp.transport->responder.message) {
        case ResponderState::Message::kNone:
            in_order = op.first;
            break;
        case ResponderState::Message::kSend:
            in_order = op.is_send() && !op.first;
            break;
        case ResponderState::Message::kWrite:
            in_order = op.is_write() && !op.first;
            break;
    }
    if (!in_order)
        ack_nak_.nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
    return in_order;
}

bool Responder::check_opcode_valid(QueuePair& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    std::uint32_t needed = 0;
    if (op.is_write())
        needed = DINGO_ACC_REMOTE_WRITE;
    else if (op.is_read_request())
        needed = DINGO_ACC_REMOTE_READ;
    else if (op.is_atomic())
        needed = DINGO_ACC_REMOTE_ATOMIC;
    if ((qp.attr.access & needed) == needed)
        return true;
    ack_nak_.nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
    return false;
}

bool Responder::check_resource(QueuePair& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    if (op.is_read_request() || op.is_atomic()) {
        if (ReadResponses::has_slot(qp.transport->responder))
            return true;
        ack_nak_.nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
        return false;
    }
    if (!op.is_send() && !(op.has_imm() && op.last))
        return true;
    switch (receives_.take(qp)) {
        case ReceiveRing::Fetch::kOk:
            return true;
        case ReceiveRing::Fetch::kEmpty:
            card_.count(DINGO_CARD_OUT_OF_BUFFER);
            rnr_.nak_not_ready(qp);
            return false;
        case ReceiveRing::Fetch::kBad:
            receives_.fail(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE});
            break;
        case ReceiveRing::Fetch::kBusError:
            receives_.fail(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH});
            break;
    }
    ack_nak_.nak_fatal(qp, syndrome::kNakRemoteOperational, packet.bth.psn, 0);
    return false;
}

bool Responder::check_length(QueuePair& qp, const packet::Packet& packet) {  // C9-92
    const packet::OpcodeTraits& op = packet.op();
    const ResponderState& p = qp.transport->responder;
    const std::size_t pmtu = pmtu_bytes(qp);
    const std::size_t bytes = packet.payload.size();
    bool fits = true;
    if (op.is_send() || op.is_write()) {
        const std::size_t full = packet.packets * pmtu;
        fits = packet.packets > 1 ? packet::train_pmtu(bytes, packet.packets) == pmtu
                                  : bytes <= pmtu && (op.first || bytes > 0);
        fits = fits && (op.last || bytes == full);
        if (op.is_write()) {
            const std::uint32_t remaining = op.first ? packet.reth.length : p.remaining;
            fits = fits && (op.last ? bytes == remaining : bytes < remaining) &&
                   remaining <= DINGO_MAX_MSG;
        }
    } else {
        fits = bytes == 0 && (!op.is_read_request() || packet.reth.length <= DINGO_MAX_MSG);
    }
    if (!fits) {
        receives_.put_back(qp);
        ack_nak_.nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
        return false;
    }
    const std::uint64_t taken = op.first ? 0 : p.receive_bytes;
    if (!op.is_send() || taken + bytes <= receives_.capacity())
        return true;
    card_.count(DINGO_CARD_RESP_LOCAL_LENGTH_ERROR);
    receives_.fail(qp, {DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_RQ_TOO_SHORT});
    ack_nak_.nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, 0);
    return false;
}

bool Responder::check_rkey(QueuePair& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    MemoryRange range;
    if (op.is_write() && op.first)
        return check_remote(qp, memory_.check(qp, packet.reth.rkey, packet.reth.va,
                                              packet.reth.length, DINGO_ACC_REMOTE_WRITE, range));
    if (op.is_read_request())
        return check_remote(qp, memory_.check(qp, packet.reth.rkey, packet.reth.va,
                                              packet.reth.length, DINGO_ACC_REMOTE_READ, range));
    if (!op.is_atomic())
        return true;
    constexpr std::uint64_t kAtomicBytes = 8;
    if (packet.atomic_eth.va % kAtomicBytes != 0) {
        ack_nak_.nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
        return false;
    }
    return check_remote(qp, memory_.check(qp, packet.atomic_eth.rkey, packet.atomic_eth.va,
                                          kAtomicBytes, DINGO_ACC_REMOTE_ATOMIC, range));
}

bool Responder::check_remote(QueuePair& qp, KeyVerdict verdict) {
    if (verdict == KeyVerdict::kOk)
        return true;
    receives_.put_back(qp);
    if (verdict == KeyVerdict::kPaused)
        rnr_.nak_not_ready(qp);
    else
        ack_nak_.nak_fatal(qp, syndrome::kNakRemoteAccess, qp.transport->responder.expected_psn,
                           DINGO_EV_QP_ACCESS_ERR);
    return false;
}

}  // namespace dingo::model
