// SPDX-License-Identifier: BSD-2-Clause
//
// Multicast groups of UD QPs.
#include <algorithm>
#include <cerrno>

#include "host/driver/driver.h"
#include "host/driver/qp.h"

namespace dingo::uverbs {

void Qp::change_group(std::uint16_t opcode, const Gid& group) {
    driver_.capabilities().need(DINGO_CAP_MCAST);
    if (init_.type != DINGO_QPT_UD || !packet::Gid{group}.is_multicast()) {
        throw ErrnoError(EINVAL);
    }
    dingo_cmd_mcast cmd{};
    cmd.qpn = number();
    std::ranges::copy(group, cmd.gid);
    try {
        driver_.admin().execute(opcode, cmd);
    } catch (const ErrnoError& error) {
        // The QP exists, so ENOENT is about its membership in the group.
        throw ErrnoError(error.code() == ENOENT ? EINVAL : error.code());
    }
}

void Qp::attach(const Gid& group) {
    change_group(DINGO_OP_ATTACH_MCAST, group);
}

void Qp::detach(const Gid& group) {
    try {
        change_group(DINGO_OP_DETACH_MCAST, group);
    } catch (const ErrnoError&) {
        if (!driver_.admin().failed()) {  // a card that failed has lost its groups
            throw;
        }
    }
}

}  // namespace dingo::uverbs
