// SPDX-License-Identifier: BSD-2-Clause
//
// The port: link, MTU, GID table, address table.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "card_context.h"
#include "dingo/packet/parse.h"
#include "multicast.h"

namespace dingo::model {

using MacAddress = std::array<std::uint8_t, 6>;
using Gid = std::array<std::uint8_t, 16>;

/// Returns a MAC address as a number, first octet on the wire most significant.
constexpr std::uint64_t mac_number(const std::uint8_t* octets) noexcept {
    std::uint64_t number = 0;
    for (int i = 0; i < 6; ++i) {
        number = number << 8 | octets[i];
    }
    return number;
}
/// Returns the destination MAC of a frame of at least six octets.
inline std::uint64_t destination_of(std::span<const std::byte> frame) noexcept {
    std::uint64_t octets = 0;
    if (frame.size() < sizeof octets) {
        return mac_number(reinterpret_cast<const std::uint8_t*>(frame.data()));
    }
    std::memcpy(&octets, frame.data(), sizeof octets);  // one load
    return __builtin_bswap64(octets) >> 16;
}
inline constexpr std::uint64_t kBroadcastMac = 0xffffffffffff;
constexpr bool is_multicast(std::uint64_t mac) noexcept {
    return (mac >> 40 & 1) != 0;
}

struct GidEntry {
    bool valid = false;
    Gid gid{};
    MacAddress mac{};
    std::uint16_t vlan = DINGO_VLAN_NONE;  ///< VLAN id
    std::uint16_t domain = 0;              ///< 0: for all QPs

    /// Returns true if a QP of domain `of_qp` may use the entry.
    [[nodiscard]] bool is_for(std::uint16_t of_qp) const noexcept {
        return valid && (domain == 0 || of_qp == 0 || domain == of_qp);
    }
};

/// An entry of the Ethernet function's address table.
struct MacEntry {
    bool valid = false;
    std::uint64_t mac = 0;
};

struct Port {
    static constexpr std::uint32_t kGidEntries = 256;

    bool link = true;      ///< set_link()
    bool enabled = false;  ///< SET_PORT
    bool promiscuous = false;
    bool all_multicast = false;
    std::uint32_t mtu = 1500;
    std::vector<GidEntry> gids = std::vector<GidEntry>(kGidEntries);
    /// incremented by SET_GID: cached header templates are stale
    std::uint32_t gid_generation = 0;
    std::array<MacEntry, DINGO_MAC_TABLE> macs{};
    bool has_groups = false;  ///< capability MCAST
    MulticastTable groups;

    [[nodiscard]] bool up() const noexcept { return link && enabled; }
    /// Returns the valid entry at `index`, or nullptr.
    [[nodiscard]] const GidEntry* gid(std::uint32_t index) const noexcept {
        return index < gids.size() && gids[index].valid ? &gids[index] : nullptr;
    }

    /// The same if a QP of `domain` may use the entry.
    [[nodiscard]] const GidEntry* gid(std::uint32_t index, std::uint16_t domain) const noexcept {
        return index < gids.size() && gids[index].is_for(domain) ? &gids[index] : nullptr;
    }

    /// Longest frame that the port accepts, with or without a VLAN tag.
    [[nodiscard]] std::size_t max_frame(bool tagged) const noexcept {
        return std::size_t{mtu} + 14 + (tagged ? 4 : 0);
    }
    /// Returns true if the address is in the address table.
    [[nodiscard]] bool in_mac_table(std::uint64_t mac) const noexcept {
        return std::ranges::find(table_macs_, mac) != table_macs_.end();
    }
    /// Returns true for the MACs of the address table and of all valid GID entries.
    [[nodiscard]] bool takes_roce(std::uint64_t mac) const noexcept {
        return std::ranges::find(roce_macs_, mac) != roce_macs_.end();
    }
    /// Returns true if the transport handles this datagram to a multicast group. Datagrams to
    /// groups without QPs go to the Ethernet function if it is promiscuous or takes all multicasts.
    [[nodiscard]] bool takes_group(std::uint64_t mac, const packet::Packet& packet) const {
        return has_groups && is_multicast(mac) && packet.bth.dest_qp == DINGO_QPN_MCAST &&
               packet.dgid.is_multicast() &&
               (!(promiscuous || all_multicast) || !groups.members(packet.dgid.bytes).empty());
    }
    /// Returns true if the frame is for the card itself.
    [[nodiscard]] bool loops_back(std::span<const std::byte> frame) const noexcept {
        constexpr std::byte kGroup{1};
        return frame.size() >= 6 && (frame[0] & kGroup) == std::byte{0} &&
               takes_roce(destination_of(frame));
    }
    /// Must be called after any change of `macs` or `gids`.
    void addresses_changed();

  private:
    std::vector<std::uint64_t> table_macs_;  // without duplicates
    std::vector<std::uint64_t> roce_macs_;   // without duplicates; short, as GIDs share few MACs
};

}  // namespace dingo::model
