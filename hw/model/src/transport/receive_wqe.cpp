// SPDX-License-Identifier: BSD-2-Clause
//
// Receive WQEs: a message of one packet uses the card's scratch copy, a longer one keeps its own
// until its last packet.
#include "core.h"

namespace dingo::model {

ReceiveRing::Fetch Core::take_receive(Qp& qp) {
    Responder& p = qp.transport->responder;
    if (p.receive_held) {
        receive_ = p.receive.get();
        return ReceiveRing::Fetch::kOk;
    }
    if (qp.srq && qp.srq->error)
        return ReceiveRing::Fetch::kEmpty;
    const ReceiveRing::Fetch result = qp.receive_ring().fetch(card_, receive_scratch_);
    if (result == ReceiveRing::Fetch::kBusError && qp.srq) {
        qp.srq->error = true;
        host_.async_event(DINGO_EV_SRQ_ERR, qp.srq->srqn);
    }
    receive_ = result == ReceiveRing::Fetch::kEmpty ? nullptr : &receive_scratch_;
    return result;
}

void Core::put_back_receive(Qp& qp) {
    if (receive_ == &receive_scratch_)
        --qp.receive_ring().consumer;
    receive_ = nullptr;
}

void Core::hold_receive(Qp& qp) {
    Responder& p = qp.transport->responder;
    if (p.receive_held)
        return;
    if (!p.receive)
        p.receive = std::make_unique<ReceiveWqe>();
    *p.receive = receive_scratch_;
    p.receive_held = true;
    receive_consumed(qp);
}

void Core::receive_consumed(Qp& qp) {
    SharedReceiveQueue* const srq = qp.srq;
    if (!srq || srq->ring.available() >= srq->limit)
        return;
    srq->limit = 0;  // fires once
    host_.async_event(DINGO_EV_SRQ_LIMIT, srq->srqn);
}

std::uint64_t Core::receive_capacity() const {
    std::uint64_t bytes = 0;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): asked only of a receive that was taken
    for (std::uint32_t i = 0; i < receive_->num_sge; ++i)
        bytes += receive_->sge[i].length;
    return bytes;
}

bool Core::complete_receive(Qp& qp, const packet::Packet& packet, std::uint32_t bytes) {
    Responder& p = qp.transport->responder;
    const packet::OpcodeTraits& op = packet.op();
    if (p.receive_held)
        p.receive_held = false;
    else
        receive_consumed(qp);
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
    entry.wqe_index = receive_->tag;
    entry.byte_len = bytes;
    entry.qpn_op = DINGO_PREP(DINGO_CQE_QPN_OP_QPN_MASK, qp.qpn) |
                   DINGO_PREP(DINGO_CQE_QPN_OP_OPCODE_MASK, std::uint32_t{opcode});
    return post_receive(qp, entry);
}

void Core::fail_receive(Qp& qp, WqeFault fault) {
    Responder& p = qp.transport->responder;
    if (p.receive_held)
        p.receive_held = false;
    else
        receive_consumed(qp);
    post_receive_error(qp, receive_->tag, DINGO_WC_RECV, fault);
    receive_ = nullptr;
}

}  // namespace dingo::model
