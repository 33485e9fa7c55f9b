// SPDX-License-Identifier: BSD-2-Clause
//
// CREATE_SRQ, DESTROY_SRQ, MODIFY_SRQ, QUERY_SRQ.
#include "commands.h"

namespace dingo::model::commands {

AdminResult create_srq(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_create_srq;
    const auto cmd = command.as<Command>();
    const bool sizes_ok =
        cmd.log_size <= DINGO_MAX_LOG_RQ && cmd.log_stride >= 5 && cmd.log_stride <= 8;
    FieldCheck check;
    check.require(cmd.srqn < max_srq(card.card.config), offsetof(Command, srqn))
        .require(cmd.pdn < kMaxPd, offsetof(Command, pdn))
        .require(cmd.db_page < kDoorbellPages, offsetof(Command, db_page))
        .require(cmd.log_size <= DINGO_MAX_LOG_RQ, offsetof(Command, log_size))
        .require(cmd.log_stride >= 5 && cmd.log_stride <= 8, offsetof(Command, log_stride))
        .zero(cmd.rsvd0, offsetof(Command, rsvd0));
    const std::uint64_t bytes = sizes_ok ? 1ull << (cmd.log_size + cmd.log_stride) : 1;
    check.ring(cmd.ring, bytes, offsetof(Command, ring))
        .require(!sizes_ok || cmd.limit <= 1u << cmd.log_size, offsetof(Command, limit))
        .zero(cmd.rsvd1, offsetof(Command, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    if (card.srqs.find(cmd.srqn) != nullptr) {
        return refuse(DINGO_ST_IN_USE);
    }
    auto srq = std::make_unique<SharedReceiveQueue>();
    const auto attached = srq->ring.memory.attach(card.card, cmd.ring, bytes);
    if (attached != RingMemory::Result::kOk) {
        return from_attach(attached, offsetof(Command, ring));
    }
    srq->srqn = cmd.srqn;
    srq->pdn = cmd.pdn;
    srq->db_page = cmd.db_page;
    srq->limit = cmd.limit;
    srq->ring.log_size = cmd.log_size;
    srq->ring.log_stride = cmd.log_stride;
    card.srqs.insert(cmd.srqn, std::move(srq));
    return {};
}

AdminResult destroy_srq(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<dingo_cmd_destroy>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(dingo_cmd_destroy, rsvd));
    }
    const SharedReceiveQueue* srq = card.srqs.find(cmd.id);
    if (srq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (srq->users != 0) {
        return refuse(DINGO_ST_BUSY);
    }
    card.async.forget(DINGO_EV_SRQ_ERR, cmd.id);
    card.async.forget(DINGO_EV_SRQ_LIMIT, cmd.id);
    card.srqs.erase(cmd.id);
    return {};
}

AdminResult modify_srq(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_modify_srq;
    const auto cmd = command.as<Command>();
    SharedReceiveQueue* srq = card.srqs.find(cmd.srqn);
    if (srq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (cmd.limit > 1u << srq->ring.log_size) {
        return bad_field(offsetof(Command, limit));
    }
    srq->limit = cmd.limit;
    if (srq->ring.available() < srq->limit) {
        srq->limit = 0;  // one-shot; fires now if the driver armed too late
        card.async.post(card.card, DINGO_EV_SRQ_LIMIT, srq->srqn);
    }
    return {};
}

AdminResult query_srq(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<dingo_cmd_destroy>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(dingo_cmd_destroy, rsvd));
    }
    const SharedReceiveQueue* srq = card.srqs.find(cmd.id);
    if (srq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    AdminResult result;
    result.result[0] = srq->limit;
    result.result[1] = srq->ring.available();
    return result;
}

}  // namespace dingo::model::commands
