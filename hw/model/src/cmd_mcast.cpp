// SPDX-License-Identifier: BSD-2-Clause
//
// ATTACH_MCAST and DETACH_MCAST.
#include "commands.h"
#include "dingo/packet/address.h"

namespace dingo::model::commands {
namespace {

using McastCommand = dingo_cmd_mcast;

/// Returns the command's QP after all checks; nullptr: `refusal` is the result.
QueuePair* qp_of(CardState& card, const McastCommand& cmd, Gid& gid, AdminResult& refusal) {
    std::ranges::copy(cmd.gid, gid.begin());
    const QueuePair* const named = card.find_qp(cmd.qpn);
    FieldCheck check;
    check.require(named == nullptr || named->type == QpType::kUd, offsetof(McastCommand, qpn))
        .zero(cmd.rsvd, offsetof(McastCommand, rsvd))
        .require(packet::Gid{gid}.is_multicast(), offsetof(McastCommand, gid));
    if (check.failed()) {
        refusal = check.result();
        return nullptr;
    }
    refusal = refuse(DINGO_ST_BAD_ID);
    return card.find_qp(cmd.qpn);
}

}  // namespace

AdminResult attach_mcast(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<McastCommand>();
    Gid gid;
    AdminResult refusal;
    if (qp_of(card, cmd, gid, refusal) == nullptr) {
        return refusal;
    }
    if (card.port.groups.attach(gid, cmd.qpn) == MulticastTable::Attach::kFull) {
        return refuse(DINGO_ST_NO_RESOURCE);
    }
    return {};
}

AdminResult detach_mcast(CardState& card, const AdminCommand& command) {
    const auto cmd = command.as<McastCommand>();
    Gid gid;
    AdminResult refusal;
    if (qp_of(card, cmd, gid, refusal) == nullptr) {
        return refusal;
    }
    if (!card.port.groups.detach(gid, cmd.qpn)) {
        return refuse(DINGO_ST_BAD_ID);
    }
    return {};
}

}  // namespace dingo::model::commands
