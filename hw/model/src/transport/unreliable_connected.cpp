// SPDX-License-Identifier: BSD-2-Clause
#include "unreliable_connected.h"

#include "dingo/packet/psn.h"
#include "qp_math.h"

namespace dingo::model {

void UnreliableConnected::drop_unreliable(QueuePair& qp) {
    qp.transport->responder.message = ResponderState::Message::kNone;
    card_.count(DINGO_CARD_RX_DROP_UC);
}

void UnreliableConnected::receive_unreliable(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    const auto kind =
        op.is_write() ? ResponderState::Message::kWrite : ResponderState::Message::kSend;
    const bool continues = packet.bth.psn == p.expected_psn && p.message == kind;
    const bool interrupts = op.first && p.message != ResponderState::Message::kNone;
    if (packet.bth.psn != p.expected_psn) {
        card_.count(DINGO_CARD_OUT_OF_SEQUENCE);
        qp.count(DINGO_QP_OUT_OF_SEQUENCE);
        p.had_gap = true;
    } else if (!p.had_gap) {
        // Any packet sets the expected PSN, so after a gap a match proves nothing.
        qp.transport->peer.requests = packet.udp_sport;
    }
    p.expected_psn = packet::psn_add(packet.bth.psn, 1);
    if (interrupts)
        drop_unreliable(qp);  // the message before has no end
    if (!op.first && !continues) {
        drop_unreliable(qp);
        return;
    }
    receives_.begin_packet();
    if (op.first)
        p.receive_bytes = 0;
    const bool taken = op.is_write() ? unreliable_write(qp, packet) : unreliable_send(qp, packet);
    if (qp.state == QpState::kErr)
        return;
    if (!taken) {
        receives_.put_back(qp);
        drop_unreliable(qp);
        return;
    }
    if (!op.last) {
        p.message = kind;
        if (receives_.taken())
            receives_.hold(qp);
        return;
    }
    p.message = ResponderState::Message::kNone;
    p.msn = packet::psn_add(p.msn, 1);
    if (receives_.taken())
        receives_.complete(qp, packet, p.receive_bytes);
}

bool UnreliableConnected::take_receive(QueuePair& qp) {
    switch (receives_.take(qp)) {
        case ReceiveRing::Fetch::kOk:
            return true;
        case ReceiveRing::Fetch::kEmpty:
            card_.count(DINGO_CARD_OUT_OF_BUFFER);
            return false;
        case ReceiveRing::Fetch::kBad:
            receives_.fail(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_SIZE});
            break;
        case ReceiveRing::Fetch::kBusError:
            receives_.fail(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH});
            break;
    }
    errors_.enter_error(qp);
    return false;
}

bool UnreliableConnected::unreliable_send(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    const std::size_t bytes = packet.payload.size();
    const std::size_t pmtu = pmtu_bytes(qp);
    const bool fits = op.last ? bytes <= pmtu && (op.first || bytes > 0) : bytes == pmtu;
    if (!fits)
        return false;
    if (!take_receive(qp))
        return false;
    if (p.receive_bytes + bytes > receives_.capacity())
        return false;
    WqeFault fault;
    const Move move =
        payload_.scatter(qp, receives_.current(), p.receive_bytes,
                         payload_.received(qp, p.receive_bytes, packet.payload), fault);
    if (move == Move::kFault) {
        receives_.fail(qp, fault);
        errors_.enter_error(qp);
        return false;
    }
    if (move != Move::kDone)
        return false;
    if (op.first)
        card_.count(DINGO_CARD_RX_SEND_REQUESTS);
    p.receive_bytes += static_cast<std::uint32_t>(bytes);
    return true;
}

bool UnreliableConnected::unreliable_write(QueuePair& qp, const packet::Packet& packet) {
    ResponderState& p = qp.transport->responder;
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
    }
    if (op.last ? bytes > pmtu || bytes != p.remaining : bytes != pmtu || bytes >= p.remaining)
        return false;
    if (op.has_imm() && !take_receive(qp))
        return false;
    if (bytes > 0 && (memory_.check(qp, p.write_rkey, p.write_va, bytes, DINGO_ACC_REMOTE_WRITE,
                                    range) != KeyVerdict::kOk ||
                      far_.write(qp, Half::kReceive, op.first, range,
                                 payload_.received(qp, p.receive_bytes - p.remaining,
                                                   packet.payload)) != FarMemory::Access::kDone))
        return false;
    if (op.first)
        card_.count(DINGO_CARD_RX_WRITE_REQUESTS);
    p.write_va += bytes;
    p.remaining -= bytes;
    return true;
}

}  // namespace dingo::model
