// SPDX-License-Identifier: BSD-2-Clause
//
// The sending half of RC and UC: which WQE and which packet of it comes next. After a loss the
// cursor goes back to an older record and its packets are made again from the send queue and host
// memory.
#include "core.h"

namespace dingo::model {
namespace {

/// Request packets in flight, at most: bounds what a loss costs and what peers must buffer.
constexpr std::int32_t kWindow = 256;
/// PSNs outstanding, READ responses included: half of the number space, else old and new look
/// alike.
constexpr std::uint32_t kPsnSpan = 1U << 23;
/// Response packets that READs may have outstanding before another READ starts: nothing paces a
/// responder, so this bounds what the wire and we must buffer (16 MiB at PMTU 4096). One READ of
/// any size is always allowed.
constexpr std::uint32_t kReadSpan = 4096;

}  // namespace

bool Core::window_closed(const Qp& qp) const {
    const Requester& r = qp.transport->requester;
    const auto in_flight = static_cast<std::int32_t>(r.send_psn - r.oldest_psn - r.read_psns);
    return in_flight >= kWindow;
}

SendStop Core::send(Qp& qp, unsigned burst, unsigned& used) {
    Requester& r = qp.transport->requester;
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
            return SendStop::kBlocked;  // until those before it have completed
        if (record.packets == 0) {      // a local operation, passed again while repeating
            ++r.cursor;
            loaded = false;
            continue;
        }
        if (window_closed(qp))
            return SendStop::kBlocked;
        if (!loaded && !reload_wqe(qp, record))
            return SendStop::kIdle;
        const std::uint32_t sending = r.cursor;
        if (const SendStop stop = send_packet(qp, record); stop != SendStop::kTurnOver)
            return stop;
        if (frame_.busy() || (qp.state != QpState::kRts && qp.state != QpState::kSqd))
            return SendStop::kTurnOver;
        ++used;
        loaded = r.cursor == sending;
    }
    return SendStop::kTurnOver;
}

SendStop Core::start_wqe(Qp& qp) {
    Requester& r = qp.transport->requester;
    if (r.halted || r.next_index == qp.sq_producer)
        return SendStop::kIdle;
    if (r.records.full() || window_closed(qp))
        return SendStop::kBlocked;
    if (const WqeFault fault = send_wqe_.load(card_, qp, r.next_index)) {
        push_error(qp, fault);
        return SendStop::kIdle;
    }
    if (send_wqe_.fence() && r.outstanding_reads > 0)
        return SendStop::kBlocked;
    return is_local_operation(send_wqe_.opcode()) ? start_local_operation(qp) : start_message(qp);
}

SendStop Core::start_message(Qp& qp) {
    Requester& r = qp.transport->requester;
    const SendWqe& wqe = send_wqe_;
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
            push_error(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_RD_ATOMIC});
            return SendStop::kIdle;
        }
        if (r.outstanding_reads >= qp.attr.max_rd_atomic)
            return SendStop::kBlocked;
        if (r.outstanding_reads > 0 && r.new_psn - r.oldest_psn + record.packets > kReadSpan)
            return SendStop::kBlocked;
    }
    if (r.new_psn - r.oldest_psn + record.packets > kPsnSpan)
        return SendStop::kBlocked;
    if (!path_of(qp)) {
        push_error(qp, {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_GID});
        return SendStop::kIdle;
    }
    if (!wqe.is_inline()) {
        WqeFault fault;
        const std::uint32_t access = record.wants_response() ? DINGO_ACC_LOCAL_WRITE : 0;
        switch (check_sges(qp, wqe, access, fault)) {
            case Move::kDone:
                break;
            case Move::kPaused:
                pause_sending(qp, kPauseRetry);
                return SendStop::kBlocked;
            case Move::kFault:
                push_error(qp, fault);
                return SendStop::kIdle;
        }
    }
    if (record.wants_response())
        ++r.outstanding_reads;
    r.records.push(record);
    r.next_index += record.blocks;
    r.new_psn += record.packets;
    return SendStop::kTurnOver;
}

void Core::push_error(Qp& qp, WqeFault fault) {
    Requester& r = qp.transport->requester;
    SendRecord record;
    record.index = r.next_index;
    record.first_psn = r.new_psn;
    record.opcode = send_wqe_.opcode();
    record.blocks = send_wqe_.blocks();
    record.status = fault.status;
    record.vendor_err = fault.vendor_err;
    r.records.push(record);
    r.next_index += record.blocks;
    r.halted = true;
    acknowledge(qp, r.oldest_psn);  // completes it at once when nothing is before it
}

void Core::fail_at_cursor(Qp& qp, WqeFault fault) {
    Requester& r = qp.transport->requester;
    SendRecord& record = r.records[r.cursor];
    record.status = fault.status;
    record.vendor_err = fault.vendor_err;
    r.halted = true;
    acknowledge(qp, r.oldest_psn);
}

bool Core::reload_wqe(Qp& qp, const SendRecord& record) {
    WqeFault fault = send_wqe_.load(card_, qp, record.index);
    const bool same = send_wqe_.opcode() == record.opcode && send_wqe_.length() == record.length;
    if (!fault && !same)  // the host changed a WQE that it had given away
        fault = {DINGO_WCS_LOC_QP_OP_ERR, DINGO_VERR_WQE_FETCH};
    if (!fault)
        return true;
    fail_at_cursor(qp, fault);
    return false;
}

}  // namespace dingo::model
