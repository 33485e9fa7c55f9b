// SPDX-License-Identifier: BSD-2-Clause
//
// Work requests that the card executes itself, in their place in the send queue.
#include "core.h"

namespace dingo::model {

SendStop Core::start_local_operation(Qp& qp) {
    Requester& r = qp.transport->requester;
    const SendWqe& wqe = send_wqe_;
    KeyVerdict verdict = KeyVerdict::kOk;
    switch (wqe.opcode()) {
        case DINGO_WR_LOCAL_INV:
            // A message before it may have to be read again through the key.
            if (!r.records.empty())
                return SendStop::kBlocked;
            verdict = memory_.invalidate(qp, wqe.inv_key());
            break;
        case DINGO_WR_BIND_MW:
            verdict = memory_.bind(qp, wqe.bind());
            break;
        case DINGO_WR_REG_MR:
            verdict = memory_.fast_register(qp, wqe.reg());
            break;
        default:
            break;  // NOP
    }
    if (verdict == KeyVerdict::kPaused) {
        pause_sending(qp, kPauseRetry);
        return SendStop::kBlocked;
    }
    if (verdict != KeyVerdict::kOk) {
        // "Memory management operation error" of the verbs.
        push_error(qp, {DINGO_WCS_MW_BIND_ERR, static_cast<std::uint8_t>(verdict)});
        return SendStop::kIdle;
    }
    SendRecord record;
    record.index = r.next_index;
    record.first_psn = r.new_psn;
    record.opcode = wqe.opcode();
    record.blocks = wqe.blocks();
    record.signaled = wqe.signaled() || qp.signal_all;
    r.records.push(record);
    r.next_index += record.blocks;
    ++r.cursor;
    acknowledge(qp, r.oldest_psn);
    return SendStop::kTurnOver;
}

}  // namespace dingo::model
