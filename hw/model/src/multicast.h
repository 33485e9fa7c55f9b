// SPDX-License-Identifier: BSD-2-Clause
//
// Multicast groups: which QPs get a copy of a datagram to which GID.
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

    /// The wire to tell of the first QP of a group and of the last; nullptr: none.
    void set_wire(WirePort* wire) noexcept { wire_ = wire; }

    /// kFull: the number of groups, or of QPs in this group, has reached its limit.
    Attach attach(const Gid& gid, std::uint32_t qpn);
    /// False: it is not attached.
    bool detach(const Gid& gid, std::uint32_t qpn);
    /// The QP is destroyed.
    void forget(std::uint32_t qpn);
    /// Forgets all groups: all QPs are gone.
    void clear();

    /// QPs of a group, in the order in which they were attached; empty: none is.
    [[nodiscard]] std::span<const std::uint32_t> members(const Gid& gid) const;
    [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }

  private:
    void leave_empty();

    std::map<Gid, std::vector<std::uint32_t>> groups_;  // without empty ones
    WirePort* wire_ = nullptr;
};

}  // namespace dingo::model
