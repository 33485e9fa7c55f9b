// SPDX-License-Identifier: BSD-2-Clause
//
// MAC addresses and GIDs as values. A GID is an IPv6 address; IPv4 appears as ::ffff:a.b.c.d.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dingo::packet {

/// An Ethernet address in wire order.
struct Mac {
    std::array<std::uint8_t, 6> bytes{};

    /// Returns the MAC address in the low 48 bits, most significant byte first on the wire.
    static constexpr Mac from_u64(std::uint64_t value) noexcept {
        Mac mac;
        for (unsigned i = 0; i < 6; ++i)
            mac.bytes[i] = static_cast<std::uint8_t>(value >> (8 * (5 - i)));
        return mac;
    }
    constexpr std::uint64_t to_u64() const noexcept {
        std::uint64_t value = 0;
        for (std::uint8_t b : bytes)
            value = value << 8 | b;
        return value;
    }
    /// The group bit: multicast or broadcast.
    constexpr bool is_multicast() const noexcept { return (bytes[0] & 0x01) != 0; }
    auto operator<=>(const Mac&) const = default;
};

/// A 16-byte GID in wire order.
struct Gid {
    std::array<std::uint8_t, 16> bytes{};

    /// ::ffff:a.b.c.d from the address as a number (10.77.0.1 = 0x0a4d0001).
    static constexpr Gid from_ipv4(std::uint32_t address) noexcept {
        Gid gid;
        gid.bytes[10] = 0xff;
        gid.bytes[11] = 0xff;
        for (unsigned i = 0; i < 4; ++i)
            gid.bytes[12 + i] = static_cast<std::uint8_t>(address >> (8 * (3 - i)));
        return gid;
    }
    constexpr bool is_ipv4_mapped() const noexcept {
        for (unsigned i = 0; i < 10; ++i)
            if (bytes[i] != 0)
                return false;
        return bytes[10] == 0xff && bytes[11] == 0xff;
    }
    /// Returns the last four bytes as a number; meaningful only if is_ipv4_mapped().
    constexpr std::uint32_t ipv4() const noexcept {
        return static_cast<std::uint32_t>(bytes[12]) << 24 |
               static_cast<std::uint32_t>(bytes[13]) << 16 |
               static_cast<std::uint32_t>(bytes[14]) << 8 | bytes[15];
    }
    /// Returns true for ff00::/8 and IPv4 multicast addresses.
    constexpr bool is_multicast() const noexcept {
        return bytes[0] == 0xff || (is_ipv4_mapped() && (bytes[12] & 0xf0) == 0xe0);
    }
    auto operator<=>(const Gid&) const = default;
};

/// Formats as "02:44:49:00:00:01".
std::string to_string(const Mac& mac);
/// Formats as "10.77.0.1" if IPv4-mapped, else as IPv6 text ("fd77::1").
std::string to_string(const Gid& gid);
/// The inverse of to_string(); nullopt for any other text.
std::optional<Mac> parse_mac(std::string_view text);
/// Parses dotted IPv4 or IPv6 text; nullopt for any other text.
std::optional<Gid> parse_gid(std::string_view text);

}  // namespace dingo::packet
