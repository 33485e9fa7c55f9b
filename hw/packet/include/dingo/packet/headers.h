// SPDX-License-Identifier: BSD-2-Clause
//
// The headers of a RoCE v2 frame as plain values in host byte order, except MAC addresses and GIDs,
// which keep wire order. Lengths are in bytes. Source: InfiniBand Architecture Specification,
// volume 1, chapter 9 and annex A17 (RoCE v2).
//
// Each header has two functions:
// - load(p) returns the header whose wire form begins at `p`;
// - store(p) writes the wire form to `p`.
// Both access exactly kBytes bytes, need no alignment and check nothing: parse() checks the
// lengths.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dingo/packet/address.h"
#include "dingo/packet/bytes.h"
#include "dingo/packet/opcodes.h"

namespace dingo::packet {

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint8_t kIpProtocolUdp = 17;
inline constexpr std::uint16_t kRoceUdpPort = 4791;

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanBytes = 4;
inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kIcrcBytes = 4;
/// Length to which an Ethernet MAC pads short frames, without FCS. The builder does not pad.
inline constexpr std::size_t kMinEthernetFrameBytes = 60;
/// Everything in front of the payload plus the ICRC, for any opcode, VLAN and IP version.
inline constexpr std::size_t kMaxOverheadBytes =
    kEthernetBytes + kVlanBytes + kIpv6Bytes + kUdpBytes + kMaxTransportHeaderBytes + kIcrcBytes;
/// Longest frame that is built or parsed, in bytes: offsets in Packet have 16 bits, as have IP
/// lengths.
inline constexpr std::size_t kMaxFrameBytes = 65535;
inline constexpr std::size_t kMaxPmtu = 4096;
/// Bytes of the longest frame that a card with PMTU 4096 sends.
inline constexpr std::size_t kMaxRoceFrameBytes = kMaxOverheadBytes + kMaxPmtu;

/// Destination, source and type, in wire order.
struct EthernetHeader {
    static constexpr std::size_t kBytes = kEthernetBytes;
    static constexpr std::size_t kTypeOffset = 12;
    Mac dst;
    Mac src;
    std::uint16_t ether_type = 0;

    static EthernetHeader load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const EthernetHeader&) const = default;
};

/// The four bytes that follow EtherType 0x8100.
struct VlanHeader {
    static constexpr std::size_t kBytes = kVlanBytes;
    using Vid = Bits<0, 12>;
    using Dei = Bits<12, 1>;
    using Pcp = Bits<13, 3>;
    std::uint16_t tci = 0;  ///< PCP, DEI, VID
    std::uint16_t ether_type = 0;

    static VlanHeader load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const VlanHeader&) const = default;
};

/// The traffic class byte of both IP versions.
namespace tos {
using Ecn = Bits<0, 2>;
using Dscp = Bits<2, 6>;
inline constexpr std::uint8_t kEcnNotCapable = 0;
inline constexpr std::uint8_t kEcnCapable1 = 1;
inline constexpr std::uint8_t kEcnCapable0 = 2;
inline constexpr std::uint8_t kEcnCongested = 3;
}  // namespace tos

/// IPv4 without options.
struct Ipv4Header {
    static constexpr std::size_t kBytes = kIpv4Bytes;
    static constexpr std::size_t kTosOffset = 1;
    static constexpr std::size_t kLengthOffset = 2;
    static constexpr std::size_t kIdOffset = 4;
    static constexpr std::size_t kTtlOffset = 8;
    static constexpr std::size_t kProtocolOffset = 9;
    static constexpr std::size_t kChecksumOffset = 10;
    static constexpr std::uint8_t kVersionIhl = 0x45;  ///< version 4, five words
    static constexpr std::uint16_t kDontFragment = 0x4000;
    static constexpr std::uint16_t kMoreFragments = 0x2000;
    static constexpr std::uint16_t kFragmentOffsetMask = 0x1fff;

    std::uint8_t version_ihl = kVersionIhl;
    std::uint8_t tos = 0;
    std::uint16_t total_length = 0;  ///< header and all that follows, bytes
    std::uint16_t id = 0;
    std::uint16_t flags_fragment = kDontFragment;  ///< offset in units of 8 bytes
    std::uint8_t ttl = 0;                          ///< hops
    std::uint8_t protocol = kIpProtocolUdp;
    std::uint16_t checksum = 0;  ///< as on the wire; store() does not compute it
    std::uint32_t src = 0;       ///< 192.0.2.1 is 0xc0000201
    std::uint32_t dst = 0;

    static Ipv4Header load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const Ipv4Header&) const = default;
};

/// Returns the one's complement sum of the 20 bytes of an IPv4 header without options at `p`, not
/// complemented: 0xffff if the checksum is correct.
std::uint16_t ipv4_header_sum(const std::byte* p) noexcept;

/// IPv6 without extension headers.
struct Ipv6Header {
    static constexpr std::size_t kBytes = kIpv6Bytes;
    static constexpr std::size_t kLengthOffset = 4;
    static constexpr std::size_t kNextHeaderOffset = 6;
    static constexpr std::size_t kHopLimitOffset = 7;
    using FlowLabel = Bits<0, 20>;
    using TrafficClass = Bits<20, 8>;
    using Version = Bits<28, 4>;
    static constexpr std::uint32_t kVersion = 6;

    std::uint8_t version = kVersion;
    std::uint8_t traffic_class = 0;
    std::uint32_t flow_label = 0;      ///< 20 bits
    std::uint16_t payload_length = 0;  ///< all that follows this header, bytes
    std::uint8_t next_header = kIpProtocolUdp;
    std::uint8_t hop_limit = 0;  ///< hops
    Gid src;
    Gid dst;

    static Ipv6Header load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const Ipv6Header&) const = default;
};

struct UdpHeader {
    static constexpr std::size_t kBytes = kUdpBytes;
    static constexpr std::size_t kDstPortOffset = 2;
    static constexpr std::size_t kLengthOffset = 4;
    static constexpr std::size_t kChecksumOffset = 6;
    std::uint16_t src_port = 0;
    std::uint16_t dst_port = kRoceUdpPort;
    std::uint16_t length = 0;    ///< this header and all that follows, bytes
    std::uint16_t checksum = 0;  ///< 0: RoCE v2 is protected by the ICRC

    static UdpHeader load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const UdpHeader&) const = default;
};

/// Base transport header: three words.
struct Bth {
    static constexpr std::size_t kBytes = kBthBytes;
    /// FECN, BECN and reserved: masked by the ICRC
    static constexpr std::size_t kResv8aOffset = 4;
    struct Word0 {
        using PKey = Bits<0, 16>;
        using TransportVersion = Bits<16, 4>;
        using Pad = Bits<20, 2>;
        using MigReq = Bits<22, 1>;
        using Solicited = Bits<23, 1>;
        using OpcodeByte = Bits<24, 8>;
    };
    struct Word1 {
        using DestQp = Bits<0, 24>;
        using Reserved6 = Bits<24, 6>;
        using Becn = Bits<30, 1>;
        using Fecn = Bits<31, 1>;
    };
    struct Word2 {
        using Psn = Bits<0, 24>;
        using Reserved7 = Bits<24, 7>;
        using AckReq = Bits<31, 1>;
    };
    static constexpr std::uint16_t kDefaultPKey = 0xffff;
    static constexpr std::uint16_t kPKeyFullMember = 0x8000;

    Opcode opcode = Opcode::kRcSendFirst;
    bool solicited = false;
    bool migreq = false;
    std::uint8_t pad = 0;   ///< bytes between payload and ICRC, 0..3
    std::uint8_t tver = 0;  ///< transport header version, 0
    std::uint16_t pkey = kDefaultPKey;
    bool fecn = false;
    bool becn = false;
    bool ack_req = false;
    std::uint32_t dest_qp = 0;  ///< 24 bits
    std::uint32_t psn = 0;      ///< 24 bits

    /// Reserved bits are ignored on load and stored as zero.
    static Bth load(const std::byte* p) noexcept;
    /// load() in place, for the hot path.
    void assign(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const Bth&) const = default;
};

/// Datagram extended transport header.
struct Deth {
    static constexpr std::size_t kBytes = kDethBytes;
    std::uint32_t qkey = 0;
    std::uint32_t src_qp = 0;  ///< 24 bits

    static Deth load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const Deth&) const = default;
};

/// RDMA extended transport header.
struct Reth {
    static constexpr std::size_t kBytes = kRethBytes;
    std::uint64_t va = 0;  ///< virtual address at the responder
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;  ///< length of the whole message, bytes

    static Reth load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const Reth&) const = default;
};

/// ACK extended transport header.
struct Aeth {
    static constexpr std::size_t kBytes = kAethBytes;
    using Msn = Bits<0, 24>;
    using Syndrome = Bits<24, 8>;
    std::uint8_t syndrome = 0;  ///< see aeth.h
    std::uint32_t msn = 0;      ///< 24 bits

    static Aeth load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const Aeth&) const = default;
};

/// Atomic extended transport header. FETCH_ADD uses swap_add only.
struct AtomicEth {
    static constexpr std::size_t kBytes = kAtomicEthBytes;
    std::uint64_t va = 0;  ///< virtual address at the responder, a multiple of 8
    std::uint32_t rkey = 0;
    std::uint64_t swap_add = 0;  ///< new value (CMP_SWAP) or addend (FETCH_ADD)
    std::uint64_t compare = 0;   ///< value that CMP_SWAP expects

    static AtomicEth load(const std::byte* p) noexcept;
    void store(std::byte* p) const noexcept;
    auto operator<=>(const AtomicEth&) const = default;
};

/// BTH and extension headers of one packet. Headers that the opcode does not have are zero after
/// parse() and ignored by the builder.
struct TransportHeaders {
    Bth bth;
    Deth deth;
    Reth reth;
    AtomicEth atomic_eth;
    Aeth aeth;
    std::uint64_t atomic_original = 0;  ///< AtomicAckETH: the old value
    std::uint32_t imm = 0;              ///< ImmDt, in host byte order
    std::uint32_t inv_rkey = 0;         ///< IETH: the key to invalidate

    auto operator<=>(const TransportHeaders&) const = default;
};

enum class L3Kind : std::uint8_t { kIpv4, kIpv6 };

/// All fields below the BTH that are constant for a connection or an address handle, as in a frame:
/// in one that is sent, `smac`, `sgid` and `udp_sport` are those of this side.
struct NetworkPath {
    Mac dmac;
    Mac smac;
    bool has_vlan = false;
    std::uint16_t vlan_tci = 0;  ///< PCP, DEI, VID; only with has_vlan
    L3Kind l3 = L3Kind::kIpv4;
    Gid sgid;
    Gid dgid;
    std::uint8_t dscp = 0;         ///< 6 bits
    std::uint8_t ecn = 0;          ///< 2 bits, tos::kEcn...
    std::uint8_t hop_limit = 64;   ///< hops; IPv4 TTL
    std::uint32_t flow_label = 0;  ///< 20 bits; IPv6 only
    std::uint16_t udp_sport = 0xc000;

    auto operator<=>(const NetworkPath&) const = default;
};

}  // namespace dingo::packet

#include "dingo/packet/headers_inline.h"
