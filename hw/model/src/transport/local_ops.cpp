// SPDX-License-Identifier: BSD-2-Clause
#include "local_ops.h"

#include "transport_state.h"

namespace dingo::model {

SendStop LocalOps::start(QueuePair& qp, const SendWqe& wqe) {
    RequesterState& r = qp.transport->requester;
    KeyVerdict verdict = KeyVerdict::kOk;
    switch (wqe.opcode()) {
        case DINGO_WR_LOCAL_INV:
            // An earlier message may have to be reread through the key.
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
    if (verdict != KeyVerdict::kOk) {
        // "Memory management operation error" in verbs.
        send_queue_.push_error(qp, wqe,
                               {DINGO_WCS_MW_BIND_ERR, static_cast<std::uint8_t>(verdict)});
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
    send_queue_.acknowledge(qp, r.oldest_psn);
    return SendStop::kTurnOver;
}

}  // namespace dingo::model
