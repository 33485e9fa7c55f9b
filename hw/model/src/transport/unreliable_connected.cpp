// SPDX-License-Identifier: BSD-2-Clause
//
// UC responder: nothing is answered; a message with a hole is dropped as a whole and its receive
// WQE waits for the next one.
#include "core.h"

namespace dingo::model {

void Core::drop_unreliable(Qp& qp) {
    qp.transport->responder.message = Responder::Message::kNone;
    drop(DINGO_CARD_RX_DROP_UC);
}

void Core::receive_unreliable(Qp& qp, const packet::Packet& packet) {
    Responder& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    const auto kind = op.is_write() ? Responder::Message::kWrite : Responder::Message::kSend;
    const bool continues = packet.bth.psn == p.expected_psn && p.message == kind;
    const bool interrupts = op.first && p.message != Responder::Message::kNone;
    if (packet.bth.psn != p.expected_psn) {
        card_.count(DINGO_CARD_OUT_OF_SEQUENCE);
        qp.count(DINGO_QP_OUT_OF_SEQUENCE);
    } else if (qp.counters[DINGO_QP_OUT_OF_SEQUENCE] == 0) {
        // Any packet sets the expected PSN: once there was a gap, being expected proves nothing.
        qp.transport->peer_ports.requests = packet.udp_sport;
    }
    p.expected_psn = packet::psn_add(packet.bth.psn, 1);
    if (interrupts)
        drop_unreliable(qp);  // the message before it has no end
    if (!op.first && !continues) {
        drop_unreliable(qp);
        return;
    }
    receive_ = nullptr;
    if (op.first)
        p.receive_bytes = 0;
    const bool taken = op.is_write() ? unreliable_write(qp, packet) : unreliable_send(qp, packet);
    if (qp.state == QpState::kErr)
        return;
    if (!taken) {
        put_back_receive(qp);
        drop_unreliable(qp);
        return;
    }
    if (!op.last) {
        p.message = kind;
        if (receive_)
            hold_receive(qp);
        return;
    }
    p.message = Responder::Message::kNone;
    p.msn = packet::psn_add(p.msn, 1);
    if (receive_)
        complete_receive(qp, packet, p.receive_bytes);
}

bool Core::unreliable_send(Qp& qp, const packet::Packet& packet) {
    Responder& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    const std::size_t bytes = packet.payload.size();
    const std::size_t pmtu = pmtu_bytes(qp);
    if (op.last ? bytes > pmtu : bytes != pmtu)
        return false;
    switch (take_receive(qp)) {
        case ReceiveRing::Fetch::kOk:
            break;
        case ReceiveRing::Fetch::kEmpty:
            card_.count(DINGO_CARD_OUT_OF_BUFFER);
            return false;
        case ReceiveRing::Fetch::kBad:
            fail_receive(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE});
            enter_error(qp);
            return false;
        case ReceiveRing::Fetch::kBusError:
            fail_receive(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH});
            enter_error(qp);
            return false;
    }
    if (p.receive_bytes + bytes > receive_capacity())
        return false;
    WqeFault fault;
    const Move move = scatter(qp, *receive_, p.receive_bytes, packet.payload, fault);
    if (move == Move::kFault) {
        fail_receive(qp, fault);
        enter_error(qp);
        return false;
    }
    if (move == Move::kPaused)
        return false;
    if (op.first)
        card_.count(DINGO_CARD_RX_SEND_REQUESTS);
    p.receive_bytes += static_cast<std::uint32_t>(bytes);
    return true;
}

bool Core::unreliable_write(Qp& qp, const packet::Packet& packet) {
    Responder& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
    const std::uint32_t pmtu = pmtu_bytes(qp);
    MemoryRange range;
    if (op.first) {
        const bool allowed = (qp.attr.access & DINGO_ACC_REMOTE_WRITE) != 0 &&
                             packet.reth.length <= DINGO_MAX_MSG &&
                             memory_.check(qp, packet.reth.rkey, packet.reth.va, packet.reth.length,
                                           DINGO_ACC_REMOTE_WRITE, range) == KeyVerdict::kOk;
        if (!allowed)
            return false;
        p.write_va = packet.reth.va;
        p.write_rkey = packet.reth.rkey;
        p.remaining = p.receive_bytes = packet.reth.length;
        card_.count(DINGO_CARD_RX_WRITE_REQUESTS);
    }
    if (op.last ? bytes > pmtu || bytes != p.remaining : bytes != pmtu || bytes >= p.remaining)
        return false;
    if (op.has_imm() && take_receive(qp) != ReceiveRing::Fetch::kOk) {
        card_.count(DINGO_CARD_OUT_OF_BUFFER);
        return false;
    }
    if (bytes > 0 && (memory_.check(qp, p.write_rkey, p.write_va, bytes, DINGO_ACC_REMOTE_WRITE,
                                    range) != KeyVerdict::kOk ||
                      !memory_.write(range, 0, packet.payload)))
        return false;
    p.write_va += bytes;
    p.remaining -= bytes;
    return true;
}

}  // namespace dingo::model
