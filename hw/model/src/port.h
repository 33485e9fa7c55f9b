// SPDX-License-Identifier: BSD-2-Clause
//
// The port: link, MTU, GID table, address table.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "card_context.h"

namespace dingo::model {

using MacAddress = std::array<std::uint8_t, 6>;
using Gid = std::array<std::uint8_t, 16>;

struct GidEntry {
    bool valid = false;
    Gid gid{};
    MacAddress mac{};
    std::uint16_t vlan = DINGO_VLAN_NONE;  ///< VLAN id
};

struct Port {
    static constexpr std::uint32_t kGidEntries = 256;

    bool cable = true;     ///< set_link()
    bool enabled = false;  ///< SET_PORT
    bool promiscuous = false;
    bool all_multicast = false;
    std::uint32_t mtu = 1500;
    std::vector<GidEntry> gids = std::vector<GidEntry>(kGidEntries);
    std::uint32_t gid_generation = 0;  ///< raised by every SET_GID: cached header templates are stale

    [[nodiscard]] bool up() const noexcept { return cable && enabled; }
    /// Valid entry at `index`, or nullptr.
    [[nodiscard]] const GidEntry* gid(std::uint32_t index) const noexcept {
        return index < gids.size() && gids[index].valid ? &gids[index] : nullptr;
    }
};

}  // namespace dingo::model
