// SPDX-License-Identifier: BSD-2-Clause
//
// SET_PORT, SET_MAC, SET_GID.
#include "capabilities.h"
#include "commands.h"

namespace dingo::model::commands {

AdminResult set_port(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_set_port;
    constexpr std::uint32_t kFlags = DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK |
                                     DINGO_CMD_SET_PORT_FLAGS_PROMISC_MASK |
                                     DINGO_CMD_SET_PORT_FLAGS_ALLMULTI_MASK;
    const auto cmd = command.as<Command>();
    FieldCheck check;
    check.flags(cmd.flags, kFlags, offsetof(Command, flags))
        .require(cmd.mtu >= DINGO_MIN_MTU && cmd.mtu <= DINGO_MAX_MTU, offsetof(Command, mtu));
    if (check.failed()) {
        return check.result();
    }
    const bool was_up = card.port.up();
    card.port.enabled = (cmd.flags & DINGO_CMD_SET_PORT_FLAGS_ENABLE_MASK) != 0;
    card.port.promiscuous = (cmd.flags & DINGO_CMD_SET_PORT_FLAGS_PROMISC_MASK) != 0;
    card.port.all_multicast = (cmd.flags & DINGO_CMD_SET_PORT_FLAGS_ALLMULTI_MASK) != 0;
    card.port.mtu = cmd.mtu;
    if (card.port.up() != was_up) {
        card.async.post(card.card, was_up ? DINGO_EV_PORT_DOWN : DINGO_EV_PORT_UP, 1);
    }
    return {};
}

AdminResult set_mac(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_set_mac;
    const auto cmd = command.as<Command>();
    const std::uint64_t mac = mac_number(cmd.mac);
    FieldCheck check;
    check.require(cmd.index < DINGO_MAC_TABLE, offsetof(Command, index))
        .require(cmd.valid <= 1, offsetof(Command, valid))
        .zero(cmd.rsvd0, offsetof(Command, rsvd0))
        .require(cmd.valid == 0 || mac != 0, offsetof(Command, mac))
        .require(cmd.valid == 0 || cmd.index != 0 || !is_multicast(mac), offsetof(Command, mac))
        .zero(cmd.rsvd1, offsetof(Command, rsvd1));
    if (check.failed()) {
        return check.result();
    }
    card.port.macs[cmd.index] = MacEntry{cmd.valid != 0, mac};
    card.port.addresses_changed();
    return {};
}

AdminResult set_gid(CardState& card, const AdminCommand& command) {
    using Command = dingo_cmd_set_gid;
    constexpr std::uint16_t kMaxVlan = 4094;
    const auto cmd = command.as<Command>();
    const bool valid = cmd.valid != 0;
    const std::uint64_t mac = mac_number(cmd.mac);
    const bool domains = (capabilities(card.card.config) & DINGO_CAP_GID_DOMAINS) != 0;
    const bool zero_gid = std::ranges::all_of(cmd.gid, [](std::uint8_t b) { return b == 0; });
    FieldCheck check;
    check.require(cmd.index < Port::kGidEntries, offsetof(Command, index))
        .require(cmd.valid <= 1, offsetof(Command, valid))
        .zero(cmd.rsvd0, offsetof(Command, rsvd0))
        .require(!valid || (mac != 0 && !is_multicast(mac)), offsetof(Command, mac))
        .require(!valid || cmd.vlan <= kMaxVlan || cmd.vlan == DINGO_VLAN_NONE,
                 offsetof(Command, vlan))
        .require((valid && domains) || cmd.domain == 0, offsetof(Command, domain))
        .require(!valid || !zero_gid, offsetof(Command, gid));
    if (check.failed()) {
        return check.result();
    }
    GidEntry entry;
    if (valid) {
        entry.valid = true;
        entry.vlan = cmd.vlan;
        entry.domain = cmd.domain;
        std::ranges::copy(cmd.gid, entry.gid.begin());
        std::ranges::copy(cmd.mac, entry.mac.begin());
    }
    card.port.gids[cmd.index] = entry;
    ++card.port.gid_generation;
    card.port.addresses_changed();
    return {};
}

}  // namespace dingo::model::commands
