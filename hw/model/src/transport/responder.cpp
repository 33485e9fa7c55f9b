// SPDX-License-Identifier: BSD-2-Clause
//
// Requests at an RC responder: one check after the other, in the order of the specification. A
// check that fails has said what the peer gets; the request is then done with.
#include "core.h"

namespace dingo::model {

namespace syndrome = packet::syndrome;

void Core::receive_request(Qp& qp, const packet::Packet& packet) {
    if (qp.transport->responder.failed) {
        drop(DINGO_CARD_RX_DROP_QP_STATE);
        return;
    }
    receive_ = nullptr;
    if (check_psn(qp, packet) && check_opcode_sequence(qp, packet) &&
        check_opcode_valid(qp, packet) && check_resource(qp, packet) && check_length(qp, packet) &&
        check_rkey(qp, packet))
        execute(qp, packet);
}

bool Core::check_psn(Qp& qp, const packet::Packet& packet) {
    Responder& p = qp.transport->responder;
    const std::int32_t ahead = packet::psn_diff(packet.bth.psn, p.expected_psn);
    if (ahead == 0) {
        qp.transport->peer_ports.requests = packet.udp_sport;
        p.nak_sent = p.rnr_sent = false;
        return true;
    }
    if (ahead < 0) {
        receive_duplicate(qp, packet);
        return false;
    }
    if (p.rnr_sent)
        return false;  // sent before the peer saw the RNR NAK
    card_.count(DINGO_CARD_OUT_OF_SEQUENCE);
    qp.count(DINGO_QP_OUT_OF_SEQUENCE);
    nak_sequence(qp);
    return false;
}

bool Core::check_opcode_sequence(Qp& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    bool in_order = false;
    switch (qp.transport->responder.message) {
        case Responder::Message::kNone:
            in_order = op.first;
            break;
        case Responder::Message::kSend:
            in_order = op.is_send() && !op.first;
            break;
        case Responder::Message::kWrite:
            in_order = op.is_write() && !op.first;
            break;
    }
    if (!in_order)
        nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
    return in_order;
}

bool Core::check_opcode_valid(Qp& qp, const packet::Packet& packet) {
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
    nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
    return false;
}

bool Core::check_resource(Qp& qp, const packet::Packet& packet) {
    const packet::OpcodeTraits& op = packet.op();
    Responder& p = qp.transport->responder;
    if (op.is_read_request() || op.is_atomic()) {
        // The slot for this request is the oldest one: its response must have left. A repetition of
        // it may still be going on; a requester that asks for more has got what it needs of it.
        if (!p.resources.empty()) {
            ReadResource& oldest = p.resources[p.resource_next];
            if (oldest.pending() && oldest.answered) {
                oldest.next = oldest.stop;
                if (--p.pending > 0)
                    pick_response(p);
            }
            if (!oldest.pending())
                return true;
        }
        nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
        return false;
    }
    if (!op.is_send() && !(op.has_imm() && op.last))
        return true;
    switch (take_receive(qp)) {
        case ReceiveRing::Fetch::kOk:
            return true;
        case ReceiveRing::Fetch::kEmpty:
            card_.count(DINGO_CARD_OUT_OF_BUFFER);
            nak_not_ready(qp);
            return false;
        case ReceiveRing::Fetch::kBad:
            fail_receive(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE});
            break;
        case ReceiveRing::Fetch::kBusError:
            fail_receive(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH});
            break;
    }
    nak_fatal(qp, syndrome::kNakRemoteOperational, packet.bth.psn, 0);
    return false;
}

bool Core::check_length(Qp& qp, const packet::Packet& packet) {  // C9-92
    const packet::OpcodeTraits& op = packet.op();
    const Responder& p = qp.transport->responder;
    const std::size_t pmtu = pmtu_bytes(qp);
    const std::size_t bytes = packet.payload.size();
    bool fits = true;
    if (op.is_send() || op.is_write()) {
        fits = op.last ? bytes <= pmtu && (op.first || bytes > 0) : bytes == pmtu;
        if (op.is_write()) {
            const std::uint32_t remaining = op.first ? packet.reth.length : p.remaining;
            fits = fits && (op.last ? bytes == remaining : bytes < remaining) &&
                   remaining <= DINGO_MAX_MSG;
        }
    } else {
        fits = bytes == 0 && (!op.is_read_request() || packet.reth.length <= DINGO_MAX_MSG);
    }
    if (!fits) {
        put_back_receive(qp);
        nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
        return false;
    }
    const std::uint64_t taken = op.first ? 0 : p.receive_bytes;
    if (!op.is_send() || taken + bytes <= receive_capacity())
        return true;
    card_.count(DINGO_CARD_RESP_LOCAL_LENGTH_ERROR);
    fail_receive(qp, {DINGO_WCS_LOC_LEN_ERR, DINGO_VERR_RQ_TOO_SHORT});
    nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, 0);
    return false;
}

bool Core::check_rkey(Qp& qp, const packet::Packet& packet) {
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
        nak_fatal(qp, syndrome::kNakInvalidRequest, packet.bth.psn, DINGO_EV_QP_REQ_ERR);
        return false;
    }
    return check_remote(qp, memory_.check(qp, packet.atomic_eth.rkey, packet.atomic_eth.va,
                                          kAtomicBytes, DINGO_ACC_REMOTE_ATOMIC, range));
}

bool Core::check_remote(Qp& qp, KeyVerdict verdict) {
    if (verdict == KeyVerdict::kOk)
        return true;
    put_back_receive(qp);
    if (verdict == KeyVerdict::kPaused)
        nak_not_ready(qp);
    else
        nak_fatal(qp, syndrome::kNakRemoteAccess, qp.transport->responder.expected_psn,
                  DINGO_EV_QP_ACCESS_ERR);
    return false;
}

}  // namespace dingo::model
