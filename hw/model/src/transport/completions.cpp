// SPDX-License-Identifier: BSD-2-Clause
#include "completions.h"

#include <cstddef>
#include <span>

#include "transport_state.h"

namespace dingo::model {
namespace {

dingo_cqe entry_of(const QueuePair& qp, std::uint32_t wqe_index, std::uint8_t opcode) {
    dingo_cqe entry{};
    entry.wqe_index = wqe_index;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, qp.qpn) |
                   DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, std::uint32_t{opcode});
    return entry;
}

}  // namespace

void Completions::send(QueuePair& qp, std::uint32_t index, std::uint8_t opcode,
                       std::uint32_t byte_len) {
    dingo_cqe entry = entry_of(qp, index, opcode);
    entry.byte_len = byte_len;
    qp.count(DINGO_QP_SEND_CQES);
    post(qp, Half::kSend, entry);
}

void Completions::send_error(QueuePair& qp, std::uint32_t index, std::uint8_t opcode,
                             WqeFault fault) {
    dingo_cqe entry = entry_of(qp, index, opcode);
    entry.status = fault.status;
    entry.vendor_err = fault.vendor_err;
    card_.count(fault.status == DINGO_WCS_WR_FLUSH_ERR ? DINGO_CARD_REQ_CQE_FLUSH_ERROR
                                                       : DINGO_CARD_REQ_CQE_ERROR);
    qp.count(DINGO_QP_SEND_CQES);
    post(qp, Half::kSend, entry);
}

void Completions::share_consumer(const QueuePair& qp) {
    if (qp.indexes == 0 || far_.holds(qp, Half::kSend))
        return;
    const std::uint32_t consumer = qp.transport->requester.consumer();
    static_cast<void>(card_.dma_write(qp.indexes + offsetof(dingo_queue_indexes, sq_consumer),
                                      std::as_bytes(std::span(&consumer, 1))));
}

bool Completions::receive(QueuePair& qp, const dingo_cqe& entry) {
    qp.count(DINGO_QP_RECV_CQES);
    return post(qp, Half::kReceive, entry);
}

bool Completions::post(QueuePair& qp, Half half, const dingo_cqe& entry) {
    if (!far_.holds(qp, half)) [[likely]]
        return post_held(qp, half, entry);
    far_.hold_completion(qp, half, entry);
    return true;
}

bool Completions::post_held(QueuePair& qp, Half half, const dingo_cqe& entry) {
    CompletionQueue* const cq = half == Half::kSend ? qp.send_cq : qp.recv_cq;
    if (cq->post(card_, entry))
        return true;
    errors_.fail(qp);
    return false;
}

void Completions::receive_error(QueuePair& qp, std::uint32_t tag, std::uint8_t opcode,
                                WqeFault fault) {
    dingo_cqe entry = entry_of(qp, tag, opcode);
    entry.status = fault.status;
    entry.vendor_err = fault.vendor_err;
    card_.count(fault.status == DINGO_WCS_WR_FLUSH_ERR ? DINGO_CARD_RESP_CQE_FLUSH_ERROR
                                                       : DINGO_CARD_RESP_CQE_ERROR);
    receive(qp, entry);
}

}  // namespace dingo::model
