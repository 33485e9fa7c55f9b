// SPDX-License-Identifier: BSD-2-Clause
//
// CREATE_EQ, DESTROY_EQ.
#include "commands.h"

namespace dingo::model::commands {

AdminResult create_eq(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_create_eq;
    const auto cmd = command.as<Command>();
    const bool async = (cmd.flags & DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK) != 0;
    FieldCheck check;
    check.require(cmd.eqn < kMaxEq, offsetof(Command, eqn))
        .require(cmd.vector < kVectors, offsetof(Command, vector))
        .require(cmd.log_size <= DINGO_MAX_LOG_EQ, offsetof(Command, log_size))
        .flags(cmd.flags, DINGO_CMD_CREATE_EQ_FLAGS_ASYNC_MASK, offsetof(Command, flags))
        .ring(cmd.ring, std::uint64_t{DINGO_EQE_SIZE} << (cmd.log_size & 31),
              offsetof(Command, ring))
        .zero(cmd.rsvd, offsetof(Command, rsvd));
    if (check.failed()) {
        return check.result();
    }
    if (card.eqs.find(cmd.eqn) != nullptr || (async && card.async.queue != nullptr)) {
        return refuse(DINGO_ST_IN_USE);
    }
    auto eq = std::make_unique<EventQueue>();
    const auto attached = eq->attach(card.card, cmd);
    if (attached != RingMemory::Result::kOk) {
        return from_attach(attached, offsetof(Command, ring));
    }
    EventQueue& made = card.eqs.insert(cmd.eqn, std::move(eq));
    if (async) {
        card.async.queue = &made;
    }
    return {};
}

AdminResult destroy_eq(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<dingo_cmd_destroy>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(dingo_cmd_destroy, rsvd));
    }
    EventQueue* eq = card.eqs.find(cmd.id);
    if (eq == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (eq->users != 0) {
        return refuse(DINGO_ST_BUSY);
    }
    if (card.async.queue == eq) {
        card.async.queue = nullptr;
    }
    card.eqs.erase(cmd.id);
    return {};
}

}  // namespace dingo::model::commands
