// SPDX-License-Identifier: BSD-2-Clause
//
// CREATE_MR, DESTROY_MR, REREG_MR, PAUSE_MR.
#include "commands.h"
#include "memory_table_impl.h"

namespace dingo::model::commands {
namespace {

using MrCommand = dingo_cmd_create_mr;

/// Checks a region with a translation: length, address range, memory.
void check_translation(FieldCheck& check, const MrCommand& cmd) {
    const bool length_ok = cmd.length != 0 && cmd.length <= kMaxMrSize;
    check.require(region_access_ok(cmd.access), offsetof(MrCommand, access))
        .require(length_ok, offsetof(MrCommand, length))
        .require(!length_ok || cmd.length - 1 <= ~cmd.iova, offsetof(MrCommand, iova));
    if (!check.failed()) {
        if (const auto bad = bad_mem_field(cmd.mem, cmd.length, 1)) {
            check.require(false, offsetof(MrCommand, mem) + *bad);
        }
    }
}

void check_kind(FieldCheck& check, const MrCommand& cmd) {
    switch (cmd.kind) {
        case DINGO_MRT_MR:
            check_translation(check, cmd);
            break;
        case DINGO_MRT_PHYS:  // iova is the bus address, so it starts at 0
            check.require(region_access_ok(cmd.access), offsetof(MrCommand, access))
                .no_mem(cmd.mem, offsetof(MrCommand, mem))
                .zero(cmd.iova, offsetof(MrCommand, iova))
                .require(cmd.length != 0, offsetof(MrCommand, length));
            break;
        case DINGO_MRT_FRWR:  // rights are set by each REG_MR
            check.require(region_access_ok(cmd.access), offsetof(MrCommand, access))
                .no_mem(cmd.mem, offsetof(MrCommand, mem))
                .zero(cmd.iova, offsetof(MrCommand, iova))
                .require(cmd.length != 0 && (cmd.length & 0xfff) == 0 &&
                             cmd.length >> 12 <= kMaxFrwrPages,
                         offsetof(MrCommand, length));
            break;
        default:  // windows: all is set by BIND_MW
            check.zero(cmd.access, offsetof(MrCommand, access))
                .no_mem(cmd.mem, offsetof(MrCommand, mem))
                .zero(cmd.iova, offsetof(MrCommand, iova))
                .zero(cmd.length, offsetof(MrCommand, length));
            break;
    }
}

MemoryRegion* find_checked(CardState& card, const dingo_cmd_destroy& cmd, AdminResult& result) {
    if (cmd.rsvd != 0) {
        result = bad_field(offsetof(dingo_cmd_destroy, rsvd));
        return nullptr;
    }
    MemoryRegion* region = card.memory.impl().find_owner(cmd.id);
    if (region == nullptr) {
        result = refuse(DINGO_ST_BAD_ID);
    }
    return region;
}

}  // namespace

AdminResult create_mr(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<MrCommand>();
    FieldCheck check;
    check.require(key_index(cmd.key) < max_mr(card.card.config), offsetof(MrCommand, key))
        .require(cmd.pdn < kMaxPd, offsetof(MrCommand, pdn))
        .require(cmd.kind <= DINGO_MRT_MW2, offsetof(MrCommand, kind))
        .zero(cmd.rsvd0, offsetof(MrCommand, rsvd0));
    check_kind(check, cmd);
    check.zero(cmd.old_key, offsetof(MrCommand, old_key))
        .zero(cmd.rsvd1, offsetof(MrCommand, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    if (card.memory.impl().index_used(key_index(cmd.key))) {
        return refuse(DINGO_ST_IN_USE);
    }
    card.memory.impl().create(cmd);
    return {};
}

AdminResult rereg_mr(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<MrCommand>();
    FieldCheck check;
    check.require(key_index(cmd.key) == key_index(cmd.old_key), offsetof(MrCommand, key))
        .require(cmd.pdn < kMaxPd, offsetof(MrCommand, pdn))
        .require(cmd.kind == DINGO_MRT_MR, offsetof(MrCommand, kind))
        .zero(cmd.rsvd0, offsetof(MrCommand, rsvd0));
    check_translation(check, cmd);
    check.zero(cmd.rsvd1, offsetof(MrCommand, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    MemoryRegion* region = card.memory.impl().find(cmd.old_key);
    if (region == nullptr) {
        return refuse(DINGO_ST_BAD_ID);
    }
    if (region->kind != MemoryRegion::Kind::kMr) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    if (region->windows != 0) {
        return refuse(DINGO_ST_BUSY);
    }
    card.memory.impl().reregister(*region, cmd);
    return {};
}

AdminResult destroy_mr(CardState& card, const AdminCommand& command) {
    AdminResult result;
    MemoryRegion* region = find_checked(card, command.as<dingo_cmd_destroy>(), result);
    if (region == nullptr) {
        return result;
    }
    if (region->windows != 0) {
        return refuse(DINGO_ST_BUSY);
    }
    card.memory.impl().destroy(*region);
    return {};
}

AdminResult pause_mr(CardState& card, const AdminCommand& command) {
    AdminResult result;
    MemoryRegion* region = find_checked(card, command.as<dingo_cmd_destroy>(), result);
    if (region == nullptr) {
        return result;
    }
    if (region->kind != MemoryRegion::Kind::kMr) {
        return refuse(DINGO_ST_BAD_STATE);
    }
    region->state = MemoryRegion::State::kPaused;
    return {};
}

}  // namespace dingo::model::commands
