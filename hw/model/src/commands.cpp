// SPDX-License-Identifier: BSD-2-Clause
#include "commands.h"

namespace dingo::model {
namespace {

struct Entry {
    std::uint16_t opcode;
    std::uint16_t size;  // of the contract's structure; the rest of the command must be 0
    std::uint64_t capability;
    AdminResult (*handler)(CardState&, const AdminCommand&);
};

constexpr Entry kCommands[] = {
    {DINGO_OP_NOP, sizeof(dingo_admin_hdr), 0, commands::nop},
    {DINGO_OP_QUERY_DEVICE, sizeof(dingo_cmd_query_device), 0, commands::query_device},
    {DINGO_OP_QUERY_STATS, sizeof(dingo_cmd_query_stats), 0, commands::query_stats},
    {DINGO_OP_QUERY_COMPUTE, sizeof(dingo_cmd_query_compute), DINGO_CAP_COMPUTE,
     commands::query_compute},
    {DINGO_OP_SET_PORT, sizeof(dingo_cmd_set_port), 0, commands::set_port},
    {DINGO_OP_SET_MAC, sizeof(dingo_cmd_set_mac), 0, commands::set_mac},
    {DINGO_OP_SET_GID, sizeof(dingo_cmd_set_gid), 0, commands::set_gid},
    {DINGO_OP_CREATE_EQ, sizeof(dingo_cmd_create_eq), 0, commands::create_eq},
    {DINGO_OP_DESTROY_EQ, sizeof(dingo_cmd_destroy), 0, commands::destroy_eq},
    {DINGO_OP_CREATE_CQ, sizeof(dingo_cmd_create_cq), 0, commands::create_cq},
    {DINGO_OP_DESTROY_CQ, sizeof(dingo_cmd_destroy), 0, commands::destroy_cq},
    {DINGO_OP_RESIZE_CQ, sizeof(dingo_cmd_create_cq), DINGO_CAP_RESIZE_CQ, commands::resize_cq},
    {DINGO_OP_MODIFY_CQ, sizeof(dingo_cmd_modify_cq), DINGO_CAP_CQ_MODERATION, commands::modify_cq},
    {DINGO_OP_CREATE_MR, sizeof(dingo_cmd_create_mr), 0, commands::create_mr},
    {DINGO_OP_DESTROY_MR, sizeof(dingo_cmd_destroy), 0, commands::destroy_mr},
    {DINGO_OP_REREG_MR, sizeof(dingo_cmd_create_mr), DINGO_CAP_REREG_MR, commands::rereg_mr},
    {DINGO_OP_PAUSE_MR, sizeof(dingo_cmd_destroy), DINGO_CAP_PAUSE_MR, commands::pause_mr},
    {DINGO_OP_CREATE_QP, sizeof(dingo_cmd_create_qp), 0, commands::create_qp},
    {DINGO_OP_DESTROY_QP, sizeof(dingo_cmd_destroy), 0, commands::destroy_qp},
    {DINGO_OP_MODIFY_QP, sizeof(dingo_cmd_modify_qp), 0, commands::modify_qp},
    {DINGO_OP_QUERY_QP, sizeof(dingo_cmd_query_qp), 0, commands::query_qp},
    {DINGO_OP_SET_COMPUTE, sizeof(dingo_cmd_set_compute), DINGO_CAP_COMPUTE, commands::set_compute},
    {DINGO_OP_SHARE_INDEXES, sizeof(dingo_cmd_share_indexes), DINGO_CAP_SHARE_INDEXES,
     commands::share_indexes},
    {DINGO_OP_ATTACH_MCAST, sizeof(dingo_cmd_mcast), DINGO_CAP_MCAST, commands::attach_mcast},
    {DINGO_OP_DETACH_MCAST, sizeof(dingo_cmd_mcast), DINGO_CAP_MCAST, commands::detach_mcast},
    {DINGO_OP_CREATE_SRQ, sizeof(dingo_cmd_create_srq), DINGO_CAP_SRQ, commands::create_srq},
    {DINGO_OP_DESTROY_SRQ, sizeof(dingo_cmd_destroy), DINGO_CAP_SRQ, commands::destroy_srq},
    {DINGO_OP_MODIFY_SRQ, sizeof(dingo_cmd_modify_srq), DINGO_CAP_SRQ, commands::modify_srq},
    {DINGO_OP_QUERY_SRQ, sizeof(dingo_cmd_destroy), DINGO_CAP_SRQ, commands::query_srq},
    {DINGO_OP_CREATE_ETH, sizeof(dingo_cmd_create_eth), DINGO_CAP_ETH, commands::create_eth},
    {DINGO_OP_DESTROY_ETH, sizeof(dingo_cmd_destroy), DINGO_CAP_ETH, commands::destroy_eth},
    {DINGO_OP_SET_RSS, sizeof(dingo_cmd_set_rss), DINGO_CAP_ETH_RSS, commands::set_rss},
};

AdminResult checked(CardState& card, const AdminCommand& command) {
    const auto header = command.as<dingo_admin_hdr>();
    const auto* entry = std::ranges::find(kCommands, header.opcode, &Entry::opcode);
    if (entry == std::end(kCommands)) {
        return refuse(DINGO_ST_BAD_OPCODE);
    }
    const AdminFaults* const faults = card.card.config.admin_faults;
    if (faults != nullptr && header.opcode < faults->refused.size() &&
        faults->refused[header.opcode]) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    if ((capabilities(card.card.config) & entry->capability) != entry->capability) {
        return refuse(DINGO_ST_UNSUPPORTED);
    }
    if (header.rsvd != 0) {
        return bad_field(offsetof(dingo_admin_hdr, rsvd));
    }
    const auto unused = std::span(command.bytes).subspan(entry->size);
    const auto stray = std::ranges::find_if(unused, [](std::byte b) { return b != std::byte{0}; });
    if (stray != unused.end()) {
        return bad_field(entry->size + static_cast<std::size_t>(stray - unused.begin()));
    }
    return entry->handler(card, command);
}

}  // namespace

bool may_free_memory(const AdminCommand& command) noexcept {
    switch (command.as<dingo_admin_hdr>().opcode) {
        case DINGO_OP_NOP:
        case DINGO_OP_QUERY_DEVICE:
        case DINGO_OP_QUERY_STATS:
        case DINGO_OP_QUERY_COMPUTE:
        case DINGO_OP_QUERY_QP:
        case DINGO_OP_QUERY_SRQ:
        case DINGO_OP_CREATE_EQ:
        case DINGO_OP_CREATE_CQ:
        case DINGO_OP_MODIFY_CQ:
        case DINGO_OP_CREATE_MR:
        case DINGO_OP_CREATE_QP:
        case DINGO_OP_CREATE_SRQ:
        case DINGO_OP_CREATE_ETH:
        case DINGO_OP_SET_RSS:
            return false;
        default:
            return true;
    }
}

AdminResult execute_command(CardState& card, const AdminCommand& command) {
    const AdminResult result = checked(card, command);
    card.card.count(DINGO_CARD_ADMIN_COMMANDS);
    if (!result.ok()) {
        card.card.count(DINGO_CARD_ADMIN_ERRORS);
    }
    return result;
}

}  // namespace dingo::model
