// SPDX-License-Identifier: BSD-2-Clause
//
// Builds one request packet of RC or UC: opcode by position in the message, headers, payload from
// host memory.
#include "requester.h"

#include <algorithm>
#include <array>

#include "dingo/packet/psn.h"
#include "dingo/packet/train.h"
#include "qp_math.h"

namespace dingo::model {
namespace {

using packet::Opcode;

/// An acknowledgement is requested at the end of each message, and in long ones at this interval in
/// packets.
constexpr std::uint16_t kAckInterval = 64;

/// RC opcodes of one kind of message, by position.
struct MessageOpcodes {
    Opcode first, middle, last, only;
};
constexpr std::array<MessageOpcodes, 5> kMessageOpcodes = {{
    {Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLast, Opcode::kRcSendOnly},
    {Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLastImm, Opcode::kRcSendOnlyImm},
    {Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLastInv, Opcode::kRcSendOnlyInv},
    {Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLast, Opcode::kRcWriteOnly},
    {Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLastImm,
     Opcode::kRcWriteOnlyImm},
}};
static_assert(DINGO_WR_SEND == 0 && DINGO_WR_SEND_IMM == 1 && DINGO_WR_SEND_INV == 2 &&
              DINGO_WR_WRITE == 3 && DINGO_WR_WRITE_IMM == 4);
/// A UC opcode is the RC opcode with this bit set.
constexpr std::uint8_t kUcBit = 0x20;

Opcode opcode_at(const QueuePair& qp, std::uint8_t wr, bool first, bool last) {
    const MessageOpcodes& row = kMessageOpcodes[wr];
    const Opcode rc = first ? (last ? row.only : row.first) : (last ? row.last : row.middle);
    return is_reliable(qp) ? rc : static_cast<Opcode>(static_cast<std::uint8_t>(rc) | kUcBit);
}

packet::Bth request_bth(const QueuePair& qp, Opcode opcode, std::uint32_t psn) {
    packet::Bth bth;
    bth.opcode = opcode;
    bth.migreq = true;  // no alternate path: the connection is always in state "migrated"
    bth.dest_qp = qp.attr.dest_qpn;
    bth.psn = psn & packet::kPsnMask;
    return bth;
}

/// Returns true if the last of `packets` packets, from packet `index` of a message on, requests an
/// acknowledgement.
bool asks_for_ack(const QueuePair& qp, const SendRecord& record, std::uint32_t index,
                  unsigned packets) {
    return is_reliable(qp) && (index + packets == record.packets ||
                               qp.transport->requester.since_ackreq + packets >= kAckInterval);
}

/// Returns the number of bytes from `offset` of a message on that are in the same gather entry.
std::uint64_t bytes_in_entry(const SendWqe& wqe, std::uint64_t offset) {
    for (std::uint32_t i = 0; i < wqe.num_sge(); ++i) {
        const std::uint32_t length = wqe.sge(i).length;
        if (offset < length)
            return length - offset;
        offset -= length;
    }
    return 0;
}

/// Returns the number of packets that may be sent as one train from packet `index` of a message on.
/// Only new packets: the peer may already have some of the retransmitted ones. They must be in one
/// memory range: far memory holds little at a time for a frame that waits for several ranges.
unsigned longest_train(const QueuePair& qp, const SendRecord& record, const SendWqe& wqe,
                       std::uint32_t index) {
    const RequesterState& r = qp.transport->requester;
    const std::uint32_t left = record.packets - index;
    if (left < 2 || !is_reliable(qp) || r.send_psn != r.sent_psn)
        return 1;
    const std::uint32_t pmtu = pmtu_bytes(qp);
    const std::uint32_t offset = index * pmtu;
    const std::uint64_t here =
        wqe.is_inline() ? record.length - offset : bytes_in_entry(wqe, offset);
    const std::uint32_t whole =
        here >= record.length - offset ? left : static_cast<std::uint32_t>(here / pmtu);
    const std::uint32_t most = packet::kMaxTrainPayload / pmtu;
    return std::max(std::min({whole, most, window_room(r)}), 1U);
}

}  // namespace

SendStop Requester::send_packet(QueuePair& qp, const SendRecord& record) {
    RequesterState& r = qp.transport->requester;
    const std::uint32_t packet_index = r.send_psn - record.first_psn;
    if (!paths_.of(qp)) {
        send_queue_.fail_at_cursor(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_GID});
        return SendStop::kIdle;
    }
    if (record.opcode == DINGO_WR_READ)
        return send_read_request(qp, record, packet_index);
    if (is_atomic_opcode(record.opcode))
        return send_atomic_request(qp, record);
    return send_data_packet(qp, record, packet_index);
}

packet::TransportHeaders Requester::data_headers(const QueuePair& qp, const SendRecord& record,
                                                 std::uint32_t packet_index,
                                                 unsigned packets) const {
    const RequesterState& r = qp.transport->requester;
    const SendWqe& wqe = wqe_;
    const bool first = packet_index == 0;
    const bool last = packet_index + packets == record.packets;
    packet::TransportHeaders headers;
    headers.bth = request_bth(qp, opcode_at(qp, record.opcode, first, last), r.send_psn);
    headers.bth.ack_req = asks_for_ack(qp, record, packet_index, packets);
    headers.bth.solicited = last && wqe.solicited() && record.opcode != DINGO_WR_WRITE;
    if (record.opcode == DINGO_WR_SEND_INV)
        headers.inv_rkey = wqe.inv_key();
    else
        headers.imm = wqe.imm();
    if (first && is_write_opcode(record.opcode)) {
        const dingo_wqe_rdma rdma = wqe.rdma();
        headers.reth = {rdma.raddr, rdma.rkey, record.length};
    }
    return headers;
}

SendStop Requester::send_data_packet(QueuePair& qp, const SendRecord& record,
                                     std::uint32_t packet_index) {
    RequesterState& r = qp.transport->requester;
    const SendWqe& wqe = wqe_;
    const std::uint32_t pmtu = pmtu_bytes(qp);
    const std::uint32_t offset = packet_index * pmtu;
    const unsigned packets = frame_.open_most(
        qp.transport->path, longest_train(qp, record, wqe, packet_index),
        [&](unsigned n) { return data_headers(qp, record, packet_index, n); },
        [&](unsigned n) { return std::min(n * pmtu, record.length - offset); });
    if (packets == 0)
        return SendStop::kTurnOver;
    WqeFault fault;
    switch (payload_.fill(qp, wqe, message_of(record.index, record.first_psn), offset, fault)) {
        case Move::kDone:
            break;
        case Move::kPaused:
            frame_.cancel();
            deadlines_.pause_sending(qp, kPauseRetry);
            return SendStop::kBlocked;
        case Move::kLater:
            frame_.cancel();
            look_ahead(qp);
            return SendStop::kFetching;
        case Move::kFault:
            frame_.cancel();
            send_queue_.fail_at_cursor(qp, fault);
            return SendStop::kIdle;
    }
    frame_.send(qp);
    if (packet_index == 0 && qp.transport->far != nullptr)
        look_ahead(qp);
    request_sent(qp, r.send_psn + packets, asks_for_ack(qp, record, packet_index, packets));
    const bool last = packet_index + packets == record.packets;
    if (last)
        ++r.cursor;
    if (!is_reliable(qp)) {
        send_queue_.acknowledge(qp, r.send_psn);  // never acknowledged: complete when sent
        send_queue_.check_drained(qp);
    }
    return SendStop::kTurnOver;
}

// Faults of the regions are found when data arrive.
bool Requester::holds_back(QueuePair& qp) {
    const RequesterState& r = qp.transport->requester;
    if (!is_before(r.send_psn, r.sent_psn) || !payload_.is_paused(qp, wqe_))
        return false;
    deadlines_.pause_sending(qp, kPauseRetry);
    return true;
}

SendStop Requester::send_read_request(QueuePair& qp, const SendRecord& record,
                                      std::uint32_t packet_index) {
    RequesterState& r = qp.transport->requester;
    if (holds_back(qp))
        return SendStop::kBlocked;
    const dingo_wqe_rdma rdma = wqe_.rdma();
    // A repeated READ requests only the missing tail (9.4.4).
    const std::uint32_t offset = packet_index * pmtu_bytes(qp);
    packet::TransportHeaders headers;
    headers.bth = request_bth(qp, Opcode::kRcReadRequest, r.send_psn);
    headers.bth.ack_req = true;
    headers.reth = {rdma.raddr + offset, rdma.rkey, record.length - offset};
    if (!frame_.open(qp.transport->path, headers, 0))
        return SendStop::kTurnOver;
    frame_.send(qp);
    r.read_psns += record.packets - packet_index;
    request_sent(qp, record.first_psn + record.packets, true);
    ++r.cursor;
    return SendStop::kTurnOver;
}

SendStop Requester::send_atomic_request(QueuePair& qp, const SendRecord& record) {
    RequesterState& r = qp.transport->requester;
    if (holds_back(qp))
        return SendStop::kBlocked;
    const dingo_wqe_rdma rdma = wqe_.rdma();
    const dingo_wqe_atomic operands = wqe_.atomic();
    const bool swap = record.opcode == DINGO_WR_CMP_SWAP;
    packet::TransportHeaders headers;
    headers.bth = request_bth(qp, swap ? Opcode::kRcCmpSwap : Opcode::kRcFetchAdd, r.send_psn);
    headers.bth.ack_req = true;
    headers.atomic_eth = {rdma.raddr, rdma.rkey, operands.swap_add, swap ? operands.compare : 0};
    if (!frame_.open(qp.transport->path, headers, 0))
        return SendStop::kTurnOver;
    frame_.send(qp);
    ++r.read_psns;
    request_sent(qp, r.send_psn + 1, true);
    ++r.cursor;
    return SendStop::kTurnOver;
}

void Requester::request_sent(QueuePair& qp, std::uint32_t next_psn, bool ack_requested) {
    RequesterState& r = qp.transport->requester;
    if (is_before(r.send_psn, r.sent_psn)) {  // a single packet: retransmissions are never trains
        card_.count(DINGO_CARD_RETRANSMITS);
        qp.count(DINGO_QP_RETRANSMITS);
    }
    // The peer's time to answer begins with the request for an acknowledgement.
    const bool first_asked = ack_requested && is_before(r.ackreq_psn, r.oldest_psn);
    if (ack_requested) {
        r.ackreq_psn = next_psn - 1;
        r.since_ackreq = 0;
    } else {
        r.since_ackreq = static_cast<std::uint16_t>(r.since_ackreq + (next_psn - r.send_psn));
    }
    r.send_psn = next_psn;
    if (is_before(r.sent_psn, next_psn))
        r.sent_psn = next_psn;
    if (first_asked)
        deadlines_.restart_ack(qp);
}

}  // namespace dingo::model
