// SPDX-License-Identifier: BSD-2-Clause
#include "receives.h"

#include <algorithm>

namespace dingo::model {

ReceiveRing::Fetch Receives::take(QueuePair& qp) {
    ResponderState& p = qp.transport->responder;
    if (p.receive_held) {
        current_ = p.receive.get();
        return ReceiveRing::Fetch::kOk;
    }
    if ((qp.srq && qp.srq->error) || far_.is_full(qp, Half::kReceive)) {
        current_ = nullptr;
        return ReceiveRing::Fetch::kEmpty;
    }
    ReceiveRing& ring = qp.receive_ring();
    ring.load(card_);
    const ReceiveRing::Fetch result = ring.fetch(card_, scratch_);
    if (result == ReceiveRing::Fetch::kBusError && qp.srq) {
        qp.srq->error = true;
        host_.async_event(DINGO_EV_SRQ_ERR, qp.srq->srqn);
    }
    if (result == ReceiveRing::Fetch::kEmpty) {
        current_ = nullptr;
    } else {
        ring.store(card_);
        current_ = &scratch_;
    }
    return result;
}

void Receives::put_back(QueuePair& qp) {
    if (current_ == &scratch_) {
        ReceiveRing& ring = qp.receive_ring();
        --ring.consumer;
        ring.store(card_);
    }
    current_ = nullptr;
}

void Receives::hold(QueuePair& qp) {
    ResponderState& p = qp.transport->responder;
    if (p.receive_held)
        return;
    if (!p.receive)
        p.receive = std::make_unique<ReceiveWqe>();
    *p.receive = scratch_;
    p.receive_held = true;
    consumed(qp);
}

void Receives::consumed(QueuePair& qp) {
    SharedReceiveQueue* const srq = qp.srq;
    if (!srq || srq->ring.available() >= srq->limit)
        return;
    srq->limit = 0;  // one-shot
    host_.async_event(DINGO_EV_SRQ_LIMIT, srq->srqn);
}

std::uint64_t Receives::capacity() const {
    std::uint64_t bytes = 0;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): called only for a receive that was taken
    for (std::uint32_t i = 0; i < current_->num_sge; ++i)
        bytes += current_->sge[i].length;
    return std::min<std::uint64_t>(bytes, DINGO_MAX_MSG);
}

bool Receives::complete(QueuePair& qp, const packet::Packet& packet, std::uint32_t bytes) {
    ResponderState& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    if (p.receive_held)
        p.receive_held = false;
    else
        consumed(qp);
    std::uint8_t opcode = DINGO_WC_RECV;
    dingo_cqe entry{};
    if (op.has_imm()) {
        opcode = op.is_write() ? DINGO_WC_RECV_WRITE_IMM : DINGO_WC_RECV_IMM;
        entry.imm = __builtin_bswap32(packet.imm);
        entry.flags = DINGO_CQE_FLAGS_IMM_MASK;
    } else if (op.has_ieth()) {
        opcode = DINGO_WC_RECV_INV;
        entry.imm = packet.inv_rkey;
        entry.flags = DINGO_CQE_FLAGS_INV_MASK;
    }
    if (packet.bth.solicited)
        entry.flags |= DINGO_CQE_FLAGS_SOLICITED_MASK;
    entry.wqe_index = current_->tag;
    entry.byte_len = bytes;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, qp.qpn) |
                   DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, std::uint32_t{opcode});
    return completions_.receive(qp, entry);
}

void Receives::fail(QueuePair& qp, WqeFault fault) {
    ResponderState& p = qp.transport->responder;
    if (p.receive_held)
        p.receive_held = false;
    else
        consumed(qp);
    completions_.receive_error(qp, current_->tag, DINGO_WC_RECV, fault);
    current_ = nullptr;
}

void Receives::abandon_held(QueuePair& qp, WqeFault fault) {
    ResponderState& p = qp.transport->responder;
    if (!p.receive_held)
        return;
    p.receive_held = false;
    completions_.receive_error(qp, p.receive->tag, DINGO_WC_RECV, fault);
}

void Receives::abandon_next(QueuePair& qp, WqeFault fault) {
    qp.rq.fetch(card_, scratch_);
    qp.rq.store(card_);
    completions_.receive_error(qp, scratch_.tag, DINGO_WC_RECV, fault);
}

}  // namespace dingo::model
