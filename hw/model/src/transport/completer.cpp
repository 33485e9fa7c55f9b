// SPDX-License-Identifier: BSD-2-Clause
#include "completer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dingo/packet/aeth.h"
#include "dingo/packet/psn.h"
#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {
namespace {

namespace syndrome = packet::syndrome;
constexpr WqeFault kBadResponse{DINGO_WCS_BAD_RESP_ERR, DINGO_VERR_BAD_RESPONSE};

/// Returns the record whose PSNs include `psn`, or nullptr.
SendRecord* record_of(RequesterState& r, std::uint32_t psn) {
    for (std::uint32_t p = r.records.head(); p != r.records.tail(); ++p) {
        SendRecord& record = r.records[p];
        if (psn - record.first_psn < record.packets)
            return &record;
    }
    return nullptr;
}

/// Returns true if the peer can have reached the MSN of an AETH: at least all messages completed
/// here, and at most those begun.
bool is_peers_msn(QueuePair& qp, std::uint32_t msn) {
    const RequesterState& r = qp.transport->requester;
    const bool within = ((msn - r.completed) & packet::kPsnMask) <= r.begun - r.completed;
    PeerSigns::Msn& counts = qp.transport->peer.msn;
    if (counts == PeerSigns::Msn::kUnseen)
        counts = within ? PeerSigns::Msn::kCounts : PeerSigns::Msn::kOther;
    return within || counts == PeerSigns::Msn::kOther;
}

/// Checks that opcode and payload length of a READ response match its position.
bool fits(const SendRecord& record, const packet::Packet& packet, std::uint32_t index,
          std::uint32_t pmtu) {
    const packet::OpcodeTraits& op = packet.op();
    const std::uint32_t end = index + packet.packets;
    if (end > record.packets || op.last != (end == record.packets))
        return false;
    // A repeated READ may start with FIRST or ONLY at any position; other opcodes need a beginning.
    if (!op.first && record.received == 0)
        return false;
    if (op.has_aeth() && !syndrome::is_ack(packet.aeth.syndrome))
        return false;
    return packet.payload.size() == std::min(packet.packets * pmtu, record.length - index * pmtu);
}

}  // namespace

void Completer::receive_response(QueuePair& qp, const packet::Packet& packet) {
    const RequesterState& r = qp.transport->requester;
    const std::uint32_t ahead = (packet.bth.psn - r.oldest_psn) & packet::kPsnMask;
    const packet::OpcodeTraits& op = packet.op();
    // already received, or never requested
    if (ahead + packet.packets > r.sent_psn - r.oldest_psn ||
        (op.has_aeth() && !is_peers_msn(qp, packet.aeth.msn))) {
        drop(packet);
        return;
    }
    qp.transport->peer.responses = packet.udp_sport;
    const std::uint32_t psn = r.oldest_psn + ahead;
    if (op.is_read_response())
        receive_read_data(qp, packet, psn);
    else if (op.is_atomic_ack())
        receive_atomic_ack(qp, packet, psn);
    else
        receive_acknowledge(qp, packet, psn);
}

void Completer::receive_acknowledge(QueuePair& qp, const packet::Packet& packet,
                                    std::uint32_t psn) {
    const std::uint8_t s = packet.aeth.syndrome;
    if (syndrome::is_ack(s)) {
        qp.count(DINGO_QP_ACKS_RCVD);
        if (!send_queue_.advance(qp, psn + 1))
            retransmit_.implied_nak(qp);
    } else if (syndrome::is_rnr(s)) {
        rnr_.receive_rnr_nak(qp, s, psn);
    } else if (s == syndrome::kNakPsnSequence) {
        retransmit_.receive_sequence_nak(qp, psn);
    } else {
        receive_fatal_nak(qp, s, psn);
    }
}

void Completer::receive_fatal_nak(QueuePair& qp, std::uint8_t s, std::uint32_t psn) {
    WqeFault fault = kBadResponse;
    switch (s) {
        case syndrome::kNakInvalidRequest:
            card_.count(DINGO_CARD_REQ_REMOTE_INVALID_REQUEST);
            fault = {DINGO_WCS_REM_INV_REQ_ERR, DINGO_VERR_NAK_INVALID};
            break;
        case syndrome::kNakRemoteAccess:
            card_.count(DINGO_CARD_REQ_REMOTE_ACCESS_ERRORS);
            fault = {DINGO_WCS_REM_ACCESS_ERR, DINGO_VERR_NAK_ACCESS};
            break;
        case syndrome::kNakRemoteOperational:
            card_.count(DINGO_CARD_REQ_REMOTE_OP_ERRORS);
            fault = {DINGO_WCS_REM_OP_ERR, DINGO_VERR_NAK_OP};
            break;
        default:
            break;
    }
    if (send_queue_.advance(qp, psn))
        send_queue_.fail_front(qp, fault);
    else
        retransmit_.implied_nak(qp);
}

void Completer::drop(const packet::Packet& packet) {
    card_.count(DINGO_CARD_RX_DROP_RESPONSE, packet.packets);
}

void Completer::bad_response(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn) {
    if (send_queue_.advance(qp, psn))
        send_queue_.fail_front(qp, kBadResponse);
    else
        drop(packet);
}

void Completer::receive_read_data(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn) {
    RequesterState& r = qp.transport->requester;
    const SendRecord* const wanted = record_of(r, psn);
    if (!wanted || wanted->opcode != DINGO_WR_READ) {
        bad_response(qp, packet, psn);
        return;
    }
    if (!send_queue_.advance(qp, psn)) {  // data of this READ or an earlier one are missing
        drop(packet);
        retransmit_.implied_nak(qp);
        return;
    }
    SendRecord& record = r.records.front();
    const std::uint32_t index = psn - record.first_psn;
    if (!fits(record, packet, index, pmtu_bytes(qp))) {
        send_queue_.fail_front(qp, kBadResponse);
        return;
    }
    if (!take_data(qp, packet, index * pmtu_bytes(qp), packet.payload))
        return;
    record.received += packet.packets;
    r.read_psns -= std::min<std::uint32_t>(r.read_psns, packet.packets);
    r.oldest_psn = psn + packet.packets;
    send_queue_.acknowledge(qp, r.oldest_psn);
    send_queue_.after_progress(qp);
}

void Completer::receive_atomic_ack(QueuePair& qp, const packet::Packet& packet, std::uint32_t psn) {
    RequesterState& r = qp.transport->requester;
    const SendRecord* const wanted = record_of(r, psn);
    if (!wanted || !is_atomic_opcode(wanted->opcode) || !syndrome::is_ack(packet.aeth.syndrome)) {
        bad_response(qp, packet, psn);
        return;
    }
    if (!send_queue_.advance(qp, psn)) {
        drop(packet);
        retransmit_.implied_nak(qp);
        return;
    }
    std::array<std::byte, sizeof packet.atomic_original> value;
    std::memcpy(value.data(), &packet.atomic_original, value.size());
    SendRecord& record = r.records.front();
    if (!take_data(qp, packet, 0, value))
        return;
    record.received = 1;
    if (r.read_psns > 0)
        --r.read_psns;
    send_queue_.acknowledge(qp, psn + 1);
    send_queue_.after_progress(qp);
}

bool Completer::take_data(QueuePair& qp, const packet::Packet& packet, std::uint32_t offset,
                          std::span<const std::byte> data) {
    const SendRecord& record = qp.transport->requester.records.front();
    if (wqe_qp_ != &qp || wqe_index_ != record.index) {
        wqe_qp_ = nullptr;
        WqeFault fault = wqe_.load(card_, qp, record.index);
        if (!fault && (wqe_.opcode() != record.opcode || wqe_.length() != record.length))
            fault = {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH};
        if (fault) {
            send_queue_.fail_front(qp, fault);
            return false;
        }
        wqe_qp_ = &qp;
        wqe_index_ = record.index;
    }
    WqeFault fault;
    switch (payload_.scatter(qp, wqe_, offset, data, fault)) {
        case Move::kDone:
            return true;
        case Move::kLater:
            drop(packet);
            qp.transport->requester.no_room = true;
            return false;
        case Move::kPaused:
            drop(packet);
            retransmit_.repeat_dropped(qp);
            return false;
        case Move::kFault:
            send_queue_.fail_front(qp, fault);
            return false;
    }
    return false;
}

void Completer::forget(const QueuePair& qp) noexcept {
    if (wqe_qp_ == &qp)
        wqe_qp_ = nullptr;
}

}  // namespace dingo::model
