// SPDX-License-Identifier: BSD-2-Clause
#include "send_queue.h"

#include "qp_math.h"
#include "transport_state.h"

namespace dingo::model {

bool SendQueue::acknowledge(QueuePair& qp, std::uint32_t psn) {
    RequesterState& r = qp.transport->requester;
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
        if (!is_sending(qp))
            return true;
    }
    if (is_before(r.send_psn, r.oldest_psn)) {  // go_back() went further back than needed
        r.send_psn = r.oldest_psn;
        r.read_psns = 0;
    }
    if (is_before(r.cursor, r.records.head()))
        r.cursor = r.records.head();
    return complete;
}

bool SendQueue::advance(QueuePair& qp, std::uint32_t psn) {
    const RequesterState& r = qp.transport->requester;
    const std::uint32_t before = r.oldest_psn;
    const bool complete = acknowledge(qp, psn);
    if (!is_sending(qp))
        return false;
    if (r.oldest_psn != before)
        after_progress(qp);
    return complete;
}

void SendQueue::complete_front(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    const SendRecord record = r.records.front();
    r.records.pop();
    if (record.packets > 0)
        ++r.completed;
    if (record.wants_response())
        --r.outstanding_reads;
    if (record.signaled)
        completions_.send(qp, record.index, record.opcode,
                          record.wants_response() ? record.length : 0);
    completions_.share_consumer(qp);
}

void SendQueue::after_progress(QueuePair& qp) {
    if (!is_sending(qp))
        return;
    RequesterState& r = qp.transport->requester;
    r.retries_left = qp.attr.retry_cnt;
    r.rnr_left = qp.attr.rnr_retry;
    r.timeouts = 0;
    r.implied_nak = false;
    r.no_room = false;
    deadlines_.restart_ack(qp);
    check_drained(qp);
    if (r.cursor != r.records.tail() || r.next_index != qp.sq_producer)
        scheduler_.add(qp);
}

void SendQueue::check_drained(QueuePair& qp) {
    RequesterState& r = qp.transport->requester;
    if (qp.state != QpState::kSqd || r.drained || !r.records.empty() || far_.holds(qp, Half::kSend))
        return;
    r.drained = true;
    if (qp.attr.sqd_notify != 0)
        host_.async_event(DINGO_EV_SQ_DRAINED, qp.qpn);
}

void SendQueue::push_error(QueuePair& qp, const SendWqe& wqe, WqeFault fault) {
    RequesterState& r = qp.transport->requester;
    SendRecord record;
    record.index = r.next_index;
    record.opcode = wqe.opcode();
    record.blocks = wqe.blocks();
    record.status = fault.status;
    record.vendor_err = fault.vendor_err;
    r.records.push(record);
    r.next_index += record.blocks;
    r.halted = true;
    acknowledge(qp, r.oldest_psn);  // completes it at once if nothing is before it
}

void SendQueue::fail_at_cursor(QueuePair& qp, WqeFault fault) {
    RequesterState& r = qp.transport->requester;
    SendRecord& record = r.records[r.cursor];
    record.status = fault.status;
    record.vendor_err = fault.vendor_err;
    r.halted = true;
    acknowledge(qp, r.oldest_psn);
}

void SendQueue::fail_front(QueuePair& qp, WqeFault fault) {
    RequesterState& r = qp.transport->requester;
    if (r.records.empty())
        return;
    const SendRecord record = r.records.front();
    r.records.pop();
    is_reliable(qp) ? errors_.enter_error(qp) : errors_.enter_send_error(qp);
    completions_.send_error(qp, record.index, record.opcode, fault);
    completions_.share_consumer(qp);
}

}  // namespace dingo::model
