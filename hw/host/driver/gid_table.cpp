// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/gid_table.h"

#include <algorithm>

namespace dingo::uverbs {

void GidTable::add(const packet::Gid& gid) {
    dingo_cmd_set_gid cmd{};
    cmd.index = static_cast<std::uint32_t>(entries_.size());
    cmd.valid = 1;
    cmd.vlan = DINGO_VLAN_NONE;
    std::ranges::copy(mac_, cmd.mac);
    std::ranges::copy(gid.bytes, cmd.gid);
    admin_.execute(DINGO_OP_SET_GID, cmd);
    entries_.push_back({gid.bytes, static_cast<std::uint32_t>(entries_.size())});
}

}  // namespace dingo::uverbs
