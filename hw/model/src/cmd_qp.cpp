// SPDX-License-Identifier: BSD-2-Clause
//
// CREATE_QP, DESTROY_QP, QUERY_QP.
#include "commands.h"

namespace dingo::model::commands {
namespace {

using Create = dingo_cmd_create_qp;

std::uint64_t capability_of(std::uint8_t kind) {
    switch (kind) {
        case DINGO_QPT_RC:
            return DINGO_CAP_RC;
        case DINGO_QPT_UC:
            return DINGO_CAP_UC;
        default:
            return DINGO_CAP_UD;
    }
}

bool qpn_ok(const EngineConfig& config, std::uint32_t qpn, std::uint8_t kind) {
    if (kind == DINGO_QPT_GSI) {
        return qpn == DINGO_QPN_GSI;
    }
    const std::uint32_t index = qpn & ((1u << DINGO_QPN_INDEX_BITS) - 1);
    return qpn < DINGO_QPN_MCAST && index >= kFirstQpIndex &&
           index - kFirstQpIndex < max_qp(config);
}

void check_receive_side(FieldCheck& check, const Create& cmd) {
    if (cmd.srqn != DINGO_INVALID_ID) {
        check.zero(cmd.log_rq, offsetof(Create, log_rq))
            .zero(cmd.log_rq_stride, offsetof(Create, log_rq_stride))
            .no_mem(cmd.rq, offsetof(Create, rq));
        return;
    }
    check.require(cmd.log_rq <= DINGO_MAX_LOG_RQ, offsetof(Create, log_rq))
        .require(cmd.log_rq_stride >= 5 && cmd.log_rq_stride <= 8, offsetof(Create, log_rq_stride));
    if (!check.failed()) {
        check.ring(cmd.rq, 1ull << (cmd.log_rq + cmd.log_rq_stride), offsetof(Create, rq));
    }
}

}  // namespace

AdminResult create_qp(CardState& card, const AdminCommand& command) {
    constexpr std::uint8_t kFlags =
        DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK | DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK;
    const auto cmd = command.as<Create>();
    const bool kind_ok = cmd.kind >= DINGO_QPT_GSI && cmd.kind <= DINGO_QPT_UD;
    FieldCheck check;
    check.require(kind_ok, offsetof(Create, kind))
        .require(qpn_ok(card.card.config, cmd.qpn, cmd.kind), offsetof(Create, qpn))
        .require(cmd.pdn < kMaxPd, offsetof(Create, pdn))
        .require(cmd.db_page < kDoorbellPages, offsetof(Create, db_page))
        .flags(cmd.flags, kFlags, offsetof(Create, flags))
        .require(cmd.log_sq <= DINGO_MAX_LOG_SQ, offsetof(Create, log_sq))
        .zero(cmd.rsvd0, offsetof(Create, rsvd0))
        .ring(cmd.sq, std::uint64_t{DINGO_SQ_BLOCK} << (cmd.log_sq & 31), offsetof(Create, sq));
    check_receive_side(check, cmd);
    const std::uint64_t offered = capabilities(card.card.config);
    check
        .require((offered & DINGO_CAP_SHARES) != 0 ? cmd.share < kDoorbellPages : cmd.share == 0,
                 offsetof(Create, share))
        .require((offered & DINGO_CAP_GID_DOMAINS) != 0 || cmd.domain == 0,
                 offsetof(Create, domain))
        .zero(cmd.rsvd1, offsetof(Create, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    if ((offered & capability_of(cmd.kind)) == 0 ||
        (cmd.srqn != DINGO_INVALID_ID && (offered & DINGO_CAP_SRQ) == 0)) {
        return refuse(DINGO_ST_UNSUPPORTED);
    }
    const std::uint32_t index = cmd.qpn & ((1u << DINGO_QPN_INDEX_BITS) - 1);
    if (card.qps.find(index) != nullptr) {
        return refuse(DINGO_ST_IN_USE);
    }
    CompletionQueue* send_cq = card.cqs.find(cmd.send_cqn);
    CompletionQueue* recv_cq = card.cqs.find(cmd.recv_cqn);
    SharedReceiveQueue* srq = card.srqs.find(cmd.srqn);
    if (send_cq == nullptr || recv_cq == nullptr ||
        (cmd.srqn != DINGO_INVALID_ID && srq == nullptr)) {
        return refuse(DINGO_ST_BAD_ID);
    }
    auto qp = std::make_unique<QueuePair>();
    const auto sq = qp->sq.attach(card.card, cmd.sq, std::uint64_t{DINGO_SQ_BLOCK} << cmd.log_sq);
    if (sq != RingMemory::Result::kOk) {
        return from_attach(sq, offsetof(Create, sq));
    }
    if (srq == nullptr) {
        const auto rq =
            qp->rq.memory.attach(card.card, cmd.rq, 1ull << (cmd.log_rq + cmd.log_rq_stride));
        if (rq != RingMemory::Result::kOk) {
            return from_attach(rq, offsetof(Create, rq));
        }
        qp->rq.log_size = cmd.log_rq;
        qp->rq.log_stride = cmd.log_rq_stride;
    }
    qp->qpn = cmd.qpn;
    qp->type = static_cast<QpType>(cmd.kind);
    qp->pdn = cmd.pdn;
    qp->db_page = cmd.db_page;
    qp->share = cmd.share != 0 ? cmd.share : cmd.db_page;
    qp->domain = cmd.domain;
    qp->signal_all = (cmd.flags & DINGO_CMD_CREATE_QP_FLAGS_SIGNAL_ALL_MASK) != 0;
    qp->privileged = (cmd.flags & DINGO_CMD_CREATE_QP_FLAGS_PRIVILEGED_MASK) != 0;
    qp->send_cq = send_cq;
    qp->recv_cq = recv_cq;
    qp->srq = srq;
    qp->log_sq = cmd.log_sq;
    ++send_cq->users;
    ++recv_cq->users;
    if (srq != nullptr) {
        ++srq->users;
    }
    card.transport.qp_created(card.qps.insert(index, std::move(qp)));
    return {};
}

AdminResult destroy_qp(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<dingo_cmd_destroy>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(dingo_cmd_destroy, rsvd));
    }
    QueuePair* qp = card.find_qp(cmd.id);
    if (qp == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    card.transport.qp_destroyed(*qp);
    card.memory.unbind_windows_of(*qp);
    if (qp->type == QpType::kUd) {
        card.port.groups.forget(cmd.id);
    }
    --qp->send_cq->users;
    --qp->recv_cq->users;
    if (qp->srq != nullptr) {
        --qp->srq->users;
    }
    for (std::uint8_t kind = DINGO_EV_QP_FATAL; kind <= DINGO_EV_QP_LAST_WQE; ++kind) {
        card.async.forget(kind, cmd.id);  // its number may be reused by another QP
    }
    card.qps.erase(cmd.id & ((1u << DINGO_QPN_INDEX_BITS) - 1));
    return {};
}

AdminResult query_qp(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_query_qp;
    const auto cmd = command.as<Command>();
    FieldCheck check;
    check.zero(cmd.out_addr & 7, offsetof(Command, out_addr))
        .zero(cmd.rsvd, offsetof(Command, rsvd));
    if (check.failed()) {
        return check.result();
    }
    const QueuePair* qp = card.find_qp(cmd.qpn);
    if (qp == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    dingo_qp_info info{};
    info.attr = qp->attr;
    info.state = static_cast<std::uint8_t>(qp->state);
    card.transport.fill_info(*qp, info);
    if (!card.card.dma_write(cmd.out_addr, std::as_bytes(std::span(&info, 1)))) {
        return refuse(DINGO_ST_BUS_ERROR);
    }
    return {};
}

AdminResult share_indexes(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_share_indexes;
    const auto cmd = command.as<Command>();
    FieldCheck check;
    check.require(cmd.qpn != DINGO_QPN_GSI, offsetof(Command, qpn))
        .zero(cmd.rsvd, offsetof(Command, rsvd))
        .require(cmd.addr != 0 && cmd.addr % 64 == 0, offsetof(Command, addr));
    if (check.failed()) {
        return check.result();
    }
    QueuePair* const qp = card.find_qp(cmd.qpn);
    if (qp == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (qp->indexes == cmd.addr) {  // the record is in use: do not overwrite it
        card.transport.rq_doorbell(*qp, 0);
        return {};
    }
    ReceiveRing& ring = qp->rq;
    ring.load(card.card);
    dingo_qp_info info{};
    card.transport.fill_info(*qp, info);
    dingo_queue_indexes indexes{};
    indexes.rq_producer = ring.producer;
    indexes.rq_consumer = ring.consumer;
    indexes.sq_consumer = info.sq_consumer;
    if (!card.card.dma_write(cmd.addr, std::as_bytes(std::span(&indexes, 1)))) {
        return refuse(DINGO_ST_BUS_ERROR);
    }
    qp->indexes = cmd.addr;
    ring.record = qp->srq == nullptr ? cmd.addr : 0;
    return {};
}

}  // namespace dingo::model::commands
