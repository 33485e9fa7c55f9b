// SPDX-License-Identifier: BSD-2-Clause
//
// Responses at the requester: acknowledgements, NAKs, READ data, atomic results; and the completion
// of send WQEs in order.
#include <algorithm>
#include <array>
#include <cstring>

#include "core.h"

namespace dingo::model {
namespace {

namespace syndrome = packet::syndrome;
constexpr WqeFault kBadResponse{DINGO_WCS_BAD_RESP_ERR, DINGO_VERR_BAD_RESPONSE};

/// Record whose PSNs include `psn`, or nullptr.
SendRecord* record_of(Requester& r, std::uint32_t psn) {
    for (std::uint32_t p = r.records.head(); p != r.records.tail(); ++p) {
        SendRecord& record = r.records[p];
        if (psn - record.first_psn < record.packets)
            return &record;
    }
    return nullptr;
}

/// Opcode and payload length of a READ response are those of its place.
bool fits(const SendRecord& record, const packet::Packet& packet, std::uint32_t index,
          std::uint32_t pmtu) {
    const packet::OpcodeTraits& op = packet.op();
    const bool last = index + 1 == record.packets;
    if (op.last != last)
        return false;
    // A repeated READ starts with FIRST or ONLY anywhere; the others need a beginning.
    if (!op.first && record.received == 0)
        return false;
    if (op.has_aeth() && !syndrome::is_ack(packet.aeth.syndrome))
        return false;
    return packet.payload.size() == std::min(pmtu, record.length - index * pmtu);
}

}  // namespace

void Core::receive_response(Qp& qp, const packet::Packet& packet) {
    const Requester& r = qp.transport->requester;
    const std::uint32_t ahead = (packet.bth.psn - r.oldest_psn) & packet::kPsnMask;
    if (ahead >= r.sent_psn - r.oldest_psn) {  // acknowledged already, or never sent
        drop(DINGO_CARD_RX_DROP_RESPONSE);
        return;
    }
    qp.transport->peer_ports.responses = packet.udp_sport;
    const std::uint32_t psn = r.oldest_psn + ahead;
    const packet::OpcodeTraits& op = packet.op();
    if (op.is_read_response())
        receive_read_data(qp, packet, psn);
    else if (op.is_atomic_ack())
        receive_atomic_ack(qp, packet, psn);
    else
        receive_acknowledge(qp, packet, psn);
}

void Core::receive_acknowledge(Qp& qp, const packet::Packet& packet, std::uint32_t psn) {
    const std::uint8_t s = packet.aeth.syndrome;
    if (syndrome::is_ack(s)) {
        qp.count(DINGO_QP_ACKS_RCVD);
        if (!advance(qp, psn + 1))
            implied_nak(qp);
    } else if (syndrome::is_rnr(s)) {
        receive_rnr_nak(qp, s, psn);
    } else if (s == syndrome::kNakPsnSequence) {
        receive_sequence_nak(qp, psn);
    } else {
        receive_fatal_nak(qp, s, psn);
    }
}

void Core::receive_sequence_nak(Qp& qp, std::uint32_t psn) {
    const Requester& r = qp.transport->requester;
    card_.count(DINGO_CARD_PACKET_SEQ_ERR);
    qp.count(DINGO_QP_SEQ_NAK_RCVD);
    if (!advance(qp, psn)) {  // a NAK acknowledges everything before it
        implied_nak(qp);
        return;
    }
    if (is_before(psn, r.send_psn) && use_retry(qp, DINGO_VERR_NAK_SEQ))  // else on its way already
        go_back(qp);
}

void Core::receive_rnr_nak(Qp& qp, std::uint8_t s, std::uint32_t psn) {
    constexpr std::uint8_t kForEver = 7;
    Requester& r = qp.transport->requester;
    card_.count(DINGO_CARD_RNR_NAK_RETRY_ERR);
    qp.count(DINGO_QP_RNR_NAK_RCVD);
    if (!advance(qp, psn)) {
        implied_nak(qp);
        return;
    }
    if (!is_before(psn, r.send_psn))
        return;  // waiting for it already
    if (qp.attr.rnr_retry != kForEver) {
        if (r.rnr_left == 0) {
            card_.count(DINGO_CARD_REQ_RNR_RETRIES_EXCEEDED);
            fail_front(qp, {DINGO_WCS_RNR_RETRY_EXC_ERR, DINGO_VERR_RNR});
            return;
        }
        --r.rnr_left;
    }
    go_back(qp);
    pause_sending(qp, packet::rnr_timer_ns(syndrome::value(s)));
}

void Core::receive_fatal_nak(Qp& qp, std::uint8_t s, std::uint32_t psn) {
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
    if (advance(qp, psn))
        fail_front(qp, fault);
    else
        implied_nak(qp);
}

void Core::bad_response(Qp& qp, std::uint32_t psn) {
    if (advance(qp, psn))
        fail_front(qp, kBadResponse);
}

void Core::receive_read_data(Qp& qp, const packet::Packet& packet, std::uint32_t psn) {
    Requester& r = qp.transport->requester;
    const SendRecord* const wanted = record_of(r, psn);
    if (!wanted || wanted->opcode != DINGO_WR_READ) {
        bad_response(qp, psn);
        return;
    }
    if (!advance(qp, psn)) {  // data of this READ or an earlier one is missing
        implied_nak(qp);
        return;
    }
    SendRecord& record = r.records.front();
    const std::uint32_t index = psn - record.first_psn;
    if (!fits(record, packet, index, pmtu_bytes(qp))) {
        fail_front(qp, kBadResponse);
        return;
    }
    if (!take_response_data(qp, index * pmtu_bytes(qp), packet.payload))
        return;
    ++record.received;
    if (r.read_psns > 0)
        --r.read_psns;
    r.oldest_psn = psn + 1;
    acknowledge(qp, psn + 1);
    after_progress(qp);
}

void Core::receive_atomic_ack(Qp& qp, const packet::Packet& packet, std::uint32_t psn) {
    Requester& r = qp.transport->requester;
    const SendRecord* const wanted = record_of(r, psn);
    if (!wanted || !is_atomic_opcode(wanted->opcode) || !syndrome::is_ack(packet.aeth.syndrome)) {
        bad_response(qp, psn);
        return;
    }
    if (!advance(qp, psn)) {
        implied_nak(qp);
        return;
    }
    std::array<std::byte, sizeof packet.atomic_original> value;
    std::memcpy(value.data(), &packet.atomic_original, value.size());
    SendRecord& record = r.records.front();
    if (!take_response_data(qp, 0, value))
        return;
    record.received = 1;
    if (r.read_psns > 0)
        --r.read_psns;
    acknowledge(qp, psn + 1);
    after_progress(qp);
}

bool Core::take_response_data(Qp& qp, std::uint32_t offset, std::span<const std::byte> data) {
    Requester& r = qp.transport->requester;
    const SendRecord& record = r.records.front();
    if (response_qp_ != &qp || response_index_ != record.index) {
        response_qp_ = nullptr;
        WqeFault fault = response_wqe_.load(card_, qp, record.index);
        if (!fault &&
            (response_wqe_.opcode() != record.opcode || response_wqe_.length() != record.length))
            fault = {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH};
        if (fault) {
            fail_front(qp, fault);
            return false;
        }
        response_qp_ = &qp;
        response_index_ = record.index;
    }
    WqeFault fault;
    switch (scatter(qp, response_wqe_, offset, data, fault)) {
        case Move::kDone:
            return true;
        case Move::kPaused:  // dropped; the timeout asks for it again
            drop(DINGO_CARD_RX_DROP_RESPONSE);
            r.response_paused = true;
            return false;
        case Move::kFault:
            fail_front(qp, fault);
            return false;
    }
    return false;
}

bool Core::advance(Qp& qp, std::uint32_t psn) {
    const Requester& r = qp.transport->requester;
    const std::uint32_t before = r.oldest_psn;
    const bool complete = acknowledge(qp, psn);
    if (qp.state != QpState::kRts && qp.state != QpState::kSqd)
        return false;
    if (r.oldest_psn != before)
        after_progress(qp);
    return complete;
}

bool Core::acknowledge(Qp& qp, std::uint32_t psn) {
    Requester& r = qp.transport->requester;
    bool complete = true;
    while (!r.records.empty()) {
        const SendRecord& front = r.records.front();
        if (front.status != DINGO_WCS_SUCCESS) {
            fail_front(qp, {front.status, front.vendor_err});
            return true;
        }
        if (front.waits()) {
            complete = !is_before(front.first_psn + front.received, psn);
            break;
        }
        const std::uint32_t end = front.first_psn + front.packets;
        if (is_before(psn, end)) {
            if (is_before(r.oldest_psn, psn))
                r.oldest_psn = psn;
            break;
        }
        r.oldest_psn = end;
        complete_front(qp);
        if (qp.state != QpState::kRts && qp.state != QpState::kSqd)
            return true;
    }
    if (is_before(r.send_psn, r.oldest_psn)) {  // went back further than needed
        r.send_psn = r.oldest_psn;
        r.cursor = r.records.head();
        r.read_psns = 0;
    }
    if (is_before(r.cursor, r.records.head()))
        r.cursor = r.records.head();
    return complete;
}

void Core::complete_front(Qp& qp) {
    Requester& r = qp.transport->requester;
    const SendRecord record = r.records.front();
    r.records.pop();
    if (record.wants_response())
        --r.outstanding_reads;
    if (record.signaled)
        complete_send(qp, record.index, record.opcode, record.wants_response() ? record.length : 0);
}

void Core::after_progress(Qp& qp) {
    if (qp.state != QpState::kRts && qp.state != QpState::kSqd)
        return;
    Requester& r = qp.transport->requester;
    r.retries_left = qp.attr.retry_cnt;
    r.rnr_left = qp.attr.rnr_retry;
    r.timeouts = 0;
    r.implied_nak = false;
    r.response_paused = false;
    restart_ack_timer(qp);
    check_drained(qp);
    if (r.cursor != r.records.tail() || r.next_index != qp.sq_producer)
        wake(qp);
}

void Core::check_drained(Qp& qp) {
    Requester& r = qp.transport->requester;
    if (qp.state != QpState::kSqd || r.drained || !r.records.empty())
        return;
    r.drained = true;
    if (qp.attr.sqd_notify != 0)
        event(qp, DINGO_EV_SQ_DRAINED);
}

}  // namespace dingo::model
