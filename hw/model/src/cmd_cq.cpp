// SPDX-License-Identifier: BSD-2-Clause
//
// CREATE_CQ, DESTROY_CQ, RESIZE_CQ, MODIFY_CQ.
#include "commands.h"

namespace dingo::model::commands {
namespace {

using CqCommand = dingo_cmd_create_cq;

void check_common(FieldCheck& check, const CqCommand& cmd) {
    check.require(cmd.log_size <= DINGO_MAX_LOG_CQ, offsetof(CqCommand, log_size))
        .zero(cmd.flags, offsetof(CqCommand, flags))
        .zero(cmd.rsvd0, offsetof(CqCommand, rsvd0))
        .ring(cmd.ring, std::uint64_t{DINGO_CQE_SIZE} << (cmd.log_size & 31),
              offsetof(CqCommand, ring))
        .zero(cmd.rsvd1, offsetof(CqCommand, rsvd1));
}

}  // namespace

AdminResult create_cq(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<CqCommand>();
    FieldCheck check;
    check.require(cmd.cqn < max_cq(card.card.config), offsetof(CqCommand, cqn))
        .require(cmd.db_page < kDoorbellPages, offsetof(CqCommand, db_page));
    check_common(check, cmd);
    if (check.failed()) {
        return check.result();
    }
    if (card.cqs.find(cmd.cqn) != nullptr) {
        return refuse(DINGO_ST_IN_USE);
    }
    EventQueue* events = card.eqs.find(cmd.eqn);
    if (events == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    auto cq = std::make_unique<CompletionQueue>(card.moderation);
    const auto attached = cq->attach(card.card, cmd.ring, cmd.log_size);
    if (attached != RingMemory::Result::kOk) {
        return from_attach(attached, offsetof(CqCommand, ring));
    }
    cq->cqn = cmd.cqn;
    cq->db_page = cmd.db_page;
    cq->events = events;
    cq->async = &card.async;
    ++events->users;
    card.cqs.insert(cmd.cqn, std::move(cq));
    return {};
}

AdminResult destroy_cq(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<dingo_cmd_destroy>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(dingo_cmd_destroy, rsvd));
    }
    CompletionQueue* cq = card.cqs.find(cmd.id);
    if (cq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (cq->users != 0) {
        return refuse(DINGO_ST_BUSY);
    }
    cq->events->forget(DINGO_EV_COMPLETION, cmd.id);
    card.async.forget(DINGO_EV_CQ_ERR, cmd.id);
    --cq->events->users;
    card.cqs.erase(cmd.id);
    return {};
}

AdminResult resize_cq(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<CqCommand>();
    FieldCheck check;
    check.zero(cmd.eqn, offsetof(CqCommand, eqn)).zero(cmd.db_page, offsetof(CqCommand, db_page));
    check_common(check, cmd);
    if (check.failed()) {
        return check.result();
    }
    CompletionQueue* cq = card.cqs.find(cmd.cqn);
    if (cq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (cq->in_error()) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    const std::uint32_t producer = cq->producer();
    const auto attached = cq->attach(card.card, cmd.ring, cmd.log_size);
    if (attached != RingMemory::Result::kOk) {
        return from_attach(attached, offsetof(CqCommand, ring));
    }
    AdminResult result;
    result.result[0] = producer;
    return result;
}

AdminResult modify_cq(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_modify_cq;
    constexpr std::uint32_t kMicrosecond = 1000;
    const auto cmd = command.as<Command>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(Command, rsvd));
    }
    CompletionQueue* cq = card.cqs.find(cmd.cqn);
    if (cq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    cq->moderate(card.card, cmd.count, cmd.period * kMicrosecond);
    return {};
}

}  // namespace dingo::model::commands
