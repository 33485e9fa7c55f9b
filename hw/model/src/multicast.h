// SPDX-License-Identifier: BSD-2-Clause
//
// Multicast groups: the QPs that get a copy of each datagram to a GID.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dingo/engine.h"

namespace dingo::model {

class MulticastTable {
  public:
    using Gid = std::array<std::uint8_t, 16>;
    enum class Attach : std::uint8_t { kOk, kAlready, kFull };

    /// Sets the wire that is told to join with a group's first QP and leave with its last; nullptr:
    /// none.
    void set_wire(WirePort* wire) noexcept { wire_ = wire; }

    /// kFull: the limit of groups, or of QPs in this group, is reached.
    Attach attach(const Gid& gid, std::uint32_t qpn);
    /// Returns false if the QP is not attached.
    bool detach(const Gid& gid, std::uint32_t qpn);
    /// Detaches a destroyed QP from all groups.
    void forget(std::uint32_t qpn);
    /// Removes all groups.
    void clear();

    /// Returns the QPs of a group in the order of attachment; empty if there are none.
    [[nodiscard]] std::span<const std::uint32_t> members(const Gid& gid) const;
    [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }

  private:
    void leave_empty();

    std::map<Gid, std::vector<std::uint32_t>> groups_;  // without empty groups
    WirePort* wire_ = nullptr;
};

}  // namespace dingo::model
