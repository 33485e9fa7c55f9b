// SPDX-License-Identifier: BSD-2-Clause
//
// The admin commands. execute_command() makes the checks common to all; each handler checks all
// fields of its command before it changes anything.
#pragma once

#include "admin_command.h"
#include "card_state.h"

namespace dingo::model {

/// Executes one command. Refuses unknown opcodes, reserved header bytes and non-zero bytes after
/// the command's structure.
AdminResult execute_command(CardState& card, const AdminCommand& command);

/// Returns true if the host may unmap memory after the command: for all but NOP, creations,
/// queries, MODIFY_CQ and SET_RSS.
[[nodiscard]] bool may_free_memory(const AdminCommand& command) noexcept;

namespace commands {

AdminResult nop(CardState& card, const AdminCommand& command);
AdminResult query_device(CardState& card, const AdminCommand& command);
AdminResult query_stats(CardState& card, const AdminCommand& command);

AdminResult query_compute(CardState& card, const AdminCommand& command);
AdminResult set_compute(CardState& card, const AdminCommand& command);
AdminResult share_indexes(CardState& card, const AdminCommand& command);

AdminResult set_port(CardState& card, const AdminCommand& command);
AdminResult set_mac(CardState& card, const AdminCommand& command);
AdminResult set_gid(CardState& card, const AdminCommand& command);

AdminResult create_eq(CardState& card, const AdminCommand& command);
AdminResult destroy_eq(CardState& card, const AdminCommand& command);

AdminResult create_cq(CardState& card, const AdminCommand& command);
AdminResult destroy_cq(CardState& card, const AdminCommand& command);
AdminResult resize_cq(CardState& card, const AdminCommand& command);
AdminResult modify_cq(CardState& card, const AdminCommand& command);

AdminResult create_mr(CardState& card, const AdminCommand& command);
AdminResult destroy_mr(CardState& card, const AdminCommand& command);
AdminResult rereg_mr(CardState& card, const AdminCommand& command);
AdminResult pause_mr(CardState& card, const AdminCommand& command);

AdminResult create_qp(CardState& card, const AdminCommand& command);
AdminResult destroy_qp(CardState& card, const AdminCommand& command);
AdminResult modify_qp(CardState& card, const AdminCommand& command);
AdminResult query_qp(CardState& card, const AdminCommand& command);

AdminResult attach_mcast(CardState& card, const AdminCommand& command);
AdminResult detach_mcast(CardState& card, const AdminCommand& command);

AdminResult create_srq(CardState& card, const AdminCommand& command);
AdminResult destroy_srq(CardState& card, const AdminCommand& command);
AdminResult modify_srq(CardState& card, const AdminCommand& command);
AdminResult query_srq(CardState& card, const AdminCommand& command);

AdminResult create_eth(CardState& card, const AdminCommand& command);
AdminResult destroy_eth(CardState& card, const AdminCommand& command);
AdminResult set_rss(CardState& card, const AdminCommand& command);

}  // namespace commands
}  // namespace dingo::model
