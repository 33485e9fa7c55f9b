// SPDX-License-Identifier: BSD-2-Clause
//
// ARP, neighbour discovery (RFC 4861) and echo frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dingo/packet/headers.h"

namespace dingo::uverbs {

inline constexpr packet::Mac kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

struct Arp {
    static constexpr std::uint16_t kEtherType = 0x0806;
    static constexpr std::size_t kBytes = packet::kEthernetBytes + 28;
    static constexpr std::uint16_t kRequest = 1;
    static constexpr std::uint16_t kReply = 2;
    std::uint16_t operation = 0;
    packet::Mac sender_mac;
    std::uint32_t sender = 0;
    packet::Mac target_mac;
    std::uint32_t target = 0;

    /// Returns nullopt if the frame is not ARP for Ethernet and IPv4.
    static std::optional<Arp> load(std::span<const std::byte> frame);
    [[nodiscard]] std::array<std::byte, kBytes> frame(const packet::Mac& dst) const;
};

/// A neighbour solicitation or advertisement.
struct Ndp {
    static constexpr std::uint8_t kSolicitation = 135;
    static constexpr std::uint8_t kAdvertisement = 136;
    static constexpr std::uint8_t kHopLimit = 255;  ///< a lower value means that a router has
                                                    ///< forwarded it: invalid
    static constexpr std::size_t kBytes = packet::kEthernetBytes + packet::kIpv6Bytes + 32;
    std::uint8_t type = 0;
    packet::Gid src, dst;
    packet::Gid target;
    bool solicited = false;
    std::optional<packet::Mac> link_address;  ///< source or target link-layer address option; none:
                                              ///< the sender's address

    static std::optional<Ndp> load(std::span<const std::byte> frame);
    [[nodiscard]] std::array<std::byte, kBytes> frame(const packet::Mac& src_mac,
                                                      const packet::Mac& dst_mac) const;
};

/// ff02::1:ffXX:XXXX of an address, and the MAC address of a multicast group.
packet::Gid solicited_node(const packet::Gid& address);
packet::Mac multicast_mac(const packet::Gid& group);

/// An echo request: addresses and size of the packet. load_echo_request() returns nullopt if the
/// frame is not a valid one.
struct EchoRequest {
    packet::Gid src, dst;
    std::size_t bytes = 0;  ///< of the frame, without Ethernet padding
};
std::optional<EchoRequest> load_echo_request(std::span<const std::byte> frame);
/// Writes the reply to `out`, which is as long as the request.
void echo_reply(std::span<const std::byte> request, const packet::Mac& our_mac,
                std::span<std::byte> out);

}  // namespace dingo::uverbs
