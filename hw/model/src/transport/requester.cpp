// SPDX-License-Identifier: BSD-2-Clause
//
// Selects the next WQE and the next packet of it.
#include "requester.h"

#include <utility>

#include "qp_math.h"

namespace dingo::model {
namespace {

/// Limit of outstanding PSNs, READ responses included: half of the number space, otherwise old and
/// new PSNs are ambiguous.
constexpr std::uint32_t kPsnSpan = 1U << 23;
/// Limit of outstanding READ response packets before another READ starts: nothing paces a
/// responder, so this bounds what the wire and the requester must buffer (16 MiB at PMTU 4096). One
/// READ of any size is always allowed.
constexpr std::uint32_t kReadSpan = 4096;

bool window_closed(const RequesterState& r) {
    return window_room(r) == 0;
}

}  // namespace

SendStop Requester::turn(QueuePair& qp, unsigned burst, unsigned& used) {
    RequesterState& r = qp.transport->requester;
    bool loaded = false;
    while (used < burst) {
        if (r.wait_deadline != kNever)
            return SendStop::kBlocked;
        if (r.cursor == r.records.tail()) {
            if (qp.state != QpState::kRts)
                return SendStop::kIdle;
            if (const SendStop stop = start_wqe(qp); stop != SendStop::kTurnOver)
                return stop;
            if (r.cursor == r.records.tail()) {  // it was a local operation
                ++used;
                continue;
            }
            loaded = true;
        }
        const SendRecord& record = r.records[r.cursor];
        if (record.status != DINGO_WCS_SUCCESS)
            return SendStop::kBlocked;  // until earlier ones have completed
        if (record.packets == 0) {      // a local operation, skipped when repeating
            ++r.cursor;
            continue;
        }
        if (window_closed(r))
            return SendStop::kBlocked;
        if (!loaded && !reload_wqe(qp, record))
            return SendStop::kIdle;
        const std::uint32_t sending = r.cursor;
        if (const SendStop stop = send_packet(qp, record); stop != SendStop::kTurnOver)
            return stop;
        if (frame_.busy() || !is_sending(qp))
            return SendStop::kTurnOver;
        used += frame_.packets();
        loaded = r.cursor == sending;
    }
    return SendStop::kTurnOver;
}

SendStop Requester::start_wqe(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    if (r.halted || r.next_index == qp.sq_producer)
        return SendStop::kIdle;
    if (r.records.full() || window_closed(r) || far_.is_full(qp, Half::kSend))
        return SendStop::kBlocked;
    if (const WqeFault fault = wqe_.load(card_, qp, r.next_index)) {
        send_queue_.push_error(qp, wqe_, fault);
        return SendStop::kIdle;
    }
    if (wqe_.fence() && (r.outstanding_reads > 0 || far_.holds(qp, Half::kSend)))
        return SendStop::kBlocked;
    return is_local_operation(wqe_.opcode()) ? local_ops_.start(qp, wqe_) : start_message(qp);
}

SendStop Requester::start_message(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    const SendWqe& wqe = wqe_;
    SendRecord record;
    record.index = r.next_index;
    record.first_psn = r.new_psn;
    record.length = wqe.length();
    record.packets = packets_of(record.length, pmtu_bytes(qp));
    record.opcode = wqe.opcode();
    record.blocks = wqe.blocks();
    record.signaled = wqe.signaled() || qp.signal_all;

    if (record.wants_response()) {
        if (qp.attr.max_rd_atomic == 0) {
            send_queue_.push_error(qp, wqe, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_RD_ATOMIC});
            return SendStop::kIdle;
        }
        if (r.outstanding_reads >= qp.attr.max_rd_atomic)
            return SendStop::kBlocked;
        if (r.outstanding_reads > 0 && r.new_psn - r.oldest_psn + record.packets > kReadSpan)
            return SendStop::kBlocked;
    }
    if (r.new_psn - r.oldest_psn + record.packets > kPsnSpan)
        return SendStop::kBlocked;
    if (!paths_.of(qp)) {
        send_queue_.push_error(qp, wqe, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_GID});
        return SendStop::kIdle;
    }
    if (!wqe.is_inline()) {
        WqeFault fault;
        const std::uint32_t access = record.wants_response() ? DINGO_ACC_LOCAL_WRITE : 0;
        switch (payload_.check(qp, wqe, access, fault)) {
            case Move::kDone:
                break;
            case Move::kPaused:
            case Move::kLater:
                deadlines_.pause_sending(qp, kPauseRetry);
                return SendStop::kBlocked;
            case Move::kFault:
                send_queue_.push_error(qp, wqe, fault);
                return SendStop::kIdle;
        }
    }
    if (record.wants_response())
        ++r.outstanding_reads;
    r.records.push(record);
    r.next_index += record.blocks;
    r.new_psn += record.packets;
    ++r.begun;
    return SendStop::kTurnOver;
}

void Requester::look_ahead(QueuePair& qp) {
    const RequesterState& r = qp.transport->requester;
    FarHalf& far = qp.transport->far->half(Half::kSend);
    if (!far.in_use || qp.state != QpState::kRts)
        return;
    if (!std::exchange(far.looked_ahead, true) || is_before(far.ahead_index, r.next_index)) {
        far.ahead_index = r.next_index;
        far.ahead_psn = r.new_psn;
    }
    while (is_before(far.ahead_index, qp.sq_producer)) {
        SendWqe wqe;
        if (wqe.load(card_, qp, far.ahead_index) || wqe.fence() || is_local_operation(wqe.opcode()))
            return;
        const bool reads = wqe.opcode() == DINGO_WR_READ || is_atomic_opcode(wqe.opcode());
        if (!reads && !payload_.prefetch(qp, wqe, message_of(far.ahead_index, far.ahead_psn)))
            return;
        far.ahead_index += wqe.blocks();
        far.ahead_psn += packets_of(wqe.length(), pmtu_bytes(qp));
    }
}

bool Requester::reload_wqe(QueuePair& qp, const SendRecord& record) {
    WqeFault fault = wqe_.load(card_, qp, record.index);
    const bool same = wqe_.opcode() == record.opcode && wqe_.length() == record.length;
    if (!fault && !same)  // the host changed a posted WQE
        fault = {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH};
    if (!fault)
        return true;
    send_queue_.fail_at_cursor(qp, fault);
    return false;
}

}  // namespace dingo::model
