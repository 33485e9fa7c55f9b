// SPDX-License-Identifier: BSD-2-Clause
// Description of a queue pair for its peer. Plain data: no verbs, no sockets.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace qpx {

/// Transport service of a QP; the numbers are those on the wire.
enum class QpType : std::uint8_t { RC = 1, UC = 2, UD = 3 };

/// "RC", "UC", "UD", or "type N".
std::string to_string(QpType type);

/// Memory that the other side may use.
struct Region {
    std::uint64_t address = 0;  ///< for wr.rdma.remote_addr of the other side
    std::uint64_t length = 0;   ///< bytes
    std::uint32_t rkey = 0;
    std::string tag{};  ///< purpose, chosen by the application; up to 255 bytes of text

    bool operator==(const Region&) const = default;
};

/// A GID of the port. Both sides send theirs and choose the same pair (agree()).
struct GidCandidate {
    /// The numbers are those on the wire.
    enum class Type : std::uint8_t { InfiniBand = 1, RoceV1 = 2, RoceV2 = 3 };
    enum class Wish : std::uint8_t {
        None = 0,
        Chosen = 1,     ///< Endpoint::gid
        Connected = 2,  ///< Endpoint::gid, over whose address the two sides are connected
    };
    std::array<std::uint8_t, 16> gid{};
    Type type = Type::RoceV2;
    Wish wish = Wish::None;
    std::uint8_t prefix = 0;  ///< prefix length of its network in bits; 0: unknown

    bool operator==(const GidCandidate&) const = default;
};

/// One queue pair as the other side sees it.
struct Endpoint {
    std::string device{};                ///< for messages only; up to 63 bytes of text
    std::uint8_t port = 1;               ///< 1-based
    std::array<std::uint8_t, 16> gid{};  ///< network order; all zero on InfiniBand without GRH
    std::uint32_t qpn = 0;               ///< 24 bits
    std::uint32_t psn = 0;               ///< 24 bits: first PSN sent by this side
    std::uint32_t qkey = 0;              ///< UD: for wr.ud.remote_qkey of senders
    std::uint32_t srqn = 0;              ///< 24 bits, 0: none
    QpType type = QpType::RC;
    std::uint32_t mtu = 1024;             ///< bytes: 256, 512, 1024, 2048 or 4096
    std::uint16_t lid = 0;                ///< 0 on Ethernet
    std::uint8_t max_rd_atomic = 0;       ///< READs and atomics outstanding as requester
    std::uint8_t max_dest_rd_atomic = 0;  ///< READs and atomics outstanding as responder
    std::vector<Region> regions{};
    std::vector<std::byte> application{};    ///< opaque data of the application
    std::vector<GidCandidate> candidates{};  ///< up to 64; empty: only `gid`

    bool operator==(const Endpoint&) const = default;
};

/// Formats a GID as an address: dotted quad if IPv4-mapped, else IPv6.
std::string gid_text(const std::array<std::uint8_t, 16>& gid);

/// Serializes an endpoint, for transport by MPI, a key-value store or a file. The format is that of
/// docs/reference/qp-exchange-protocol.md, the same on all hosts and readable by later versions.
/// @throws Error(Argument) why_invalid()
std::vector<std::byte> pack(const Endpoint& endpoint);
/// The inverse of pack(). @throws Error Protocol: not an endpoint; Limit
Endpoint unpack(std::span<const std::byte> bytes);

/// Returns "" if the values are valid for a QP, else what is wrong ("MTU 1000 is none of 256, 512,
/// ...").
std::string why_invalid(const Endpoint& endpoint);

/// Returns "" if the two can be connected, else why not ("mine is RC, the peer's UD").
std::string why_incompatible(const Endpoint& mine, const Endpoint& peer);

}  // namespace qpx
#pragma GCC visibility pop
