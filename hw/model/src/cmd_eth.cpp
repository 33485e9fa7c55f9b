// SPDX-License-Identifier: BSD-2-Clause
//
// CREATE_ETH, DESTROY_ETH, SET_RSS.
#include "commands.h"

namespace dingo::model::commands {

AdminResult create_eth(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_create_eth;
    const auto cmd = command.as<Command>();
    FieldCheck check;
    check.require(cmd.kind == DINGO_ETH_TX || cmd.kind == DINGO_ETH_RX, offsetof(Command, kind))
        .require(cmd.ring < kEthRings, offsetof(Command, ring))
        .require(cmd.log_size <= DINGO_MAX_LOG_ETH, offsetof(Command, log_size))
        .zero(cmd.rsvd0, offsetof(Command, rsvd0))
        .ring(cmd.mem, sizeof(dingo_eth_desc) << (cmd.log_size & 31), offsetof(Command, mem))
        .zero(cmd.rsvd1, offsetof(Command, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    if (card.ethernet.find(cmd.kind, cmd.ring) != nullptr) {
        return refuse(DINGO_ST_IN_USE);
    }
    if (card.cqs.find(cmd.cqn) == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    return from_attach(card.ethernet.create(cmd), offsetof(Command, mem));
}

AdminResult destroy_eth(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<dingo_cmd_destroy>();
    if (cmd.rsvd != 0) {
        return bad_field(offsetof(dingo_cmd_destroy, rsvd));
    }
    const auto kind = static_cast<std::uint8_t>(cmd.id >> 24);
    const std::uint32_t ring = cmd.id & 0xffffff;
    if (card.ethernet.find(kind, ring) == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    card.ethernet.destroy(kind, ring);
    return {};
}

AdminResult set_rss(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_set_rss;
    const auto cmd = command.as<Command>();
    const bool enable = cmd.enable != 0;
    FieldCheck check;
    check.require(cmd.enable <= 1, offsetof(Command, enable))
        .zero(cmd.rsvd, offsetof(Command, rsvd));
    if (!enable) {
        check.zero(cmd.key, offsetof(Command, key));
    }
    for (std::size_t n = 0; n < DINGO_RSS_TABLE; ++n) {
        check.require(cmd.rings[n] < (enable ? kEthRings : 1), offsetof(Command, rings) + n);
    }
    if (check.failed()) {
        return check.result();
    }
    if (enable) {
        card.ethernet.rss().set(cmd.key, cmd.rings);
    } else {
        card.ethernet.rss().disable();
    }
    return {};
}

}  // namespace dingo::model::commands
