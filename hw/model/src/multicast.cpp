// SPDX-License-Identifier: BSD-2-Clause
#include "multicast.h"

#include <algorithm>

#include "capabilities.h"

namespace dingo::model {

MulticastTable::Attach MulticastTable::attach(const Gid& gid, std::uint32_t qpn) {
    const auto at = groups_.find(gid);
    if (at == groups_.end()) {
        if (groups_.size() >= kMaxMcast) {
            return Attach::kFull;
        }
        groups_[gid].push_back(qpn);
        if (wire_ != nullptr) {
            wire_->join_group(gid);
        }
        return Attach::kOk;
    }
    std::vector<std::uint32_t>& members = at->second;
    if (std::ranges::find(members, qpn) != members.end()) {
        return Attach::kAlready;
    }
    if (members.size() >= kMaxMcastQp) {
        return Attach::kFull;
    }
    members.push_back(qpn);
    return Attach::kOk;
}

bool MulticastTable::detach(const Gid& gid, std::uint32_t qpn) {
    const auto at = groups_.find(gid);
    if (at == groups_.end() || std::erase(at->second, qpn) == 0) {
        return false;
    }
    leave_empty();
    return true;
}

void MulticastTable::forget(std::uint32_t qpn) {
    for (auto& [gid, members] : groups_) {
        std::erase(members, qpn);
    }
    leave_empty();
}

void MulticastTable::clear() {
    for (auto& [gid, members] : groups_) {
        members.clear();
    }
    leave_empty();
}

void MulticastTable::leave_empty() {
    std::erase_if(groups_, [&](const auto& group) {
        if (!group.second.empty()) {
            return false;
        }
        if (wire_ != nullptr) {
            wire_->leave_group(group.first);
        }
        return true;
    });
}

std::span<const std::uint32_t> MulticastTable::members(const Gid& gid) const {
    const auto at = groups_.find(gid);
    return at == groups_.end() ? std::span<const std::uint32_t>() : at->second;
}

}  // namespace dingo::model
