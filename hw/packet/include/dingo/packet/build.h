// SPDX-License-Identifier: BSD-2-Clause
//
// Building RoCE v2 frames in place: headers first, then the caller copies the payload into the
// frame, then finish() adds pad and ICRC.
//
//     FrameBuilder builder;
//     if (builder.begin(path_template, headers, payload_bytes, ip_id, buffer)) {
//         copy_payload(builder.payload());
//         send(builder.finish());
//     }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/packet/headers.h"

namespace dingo::packet {

/// Range of UDP source ports that RoCE v2 senders use for entropy: 0xc000..0xffff.
inline constexpr std::uint16_t kRoceSourcePortMin = 0xc000;

/// Returns the UDP source port for a 20-bit flow label: its upper six bits XORed into the lower 14.
constexpr std::uint16_t udp_sport_from_flow_label(std::uint32_t flow_label) noexcept {
    using Low = Bits<0, 14>;
    using High = Bits<14, 6>;
    return static_cast<std::uint16_t>(kRoceSourcePortMin |
                                      (Low::get(flow_label) ^ High::get(flow_label)));
}

/// Returns a 20-bit flow label made of both QP numbers, for connections without a flow label.
constexpr std::uint32_t flow_label_from_qps(std::uint32_t local_qpn,
                                            std::uint32_t remote_qpn) noexcept {
    std::uint64_t v = std::uint64_t{local_qpn} * remote_qpn;
    v ^= v >> 20;
    v ^= v >> 40;
    return Ipv6Header::FlowLabel::get(static_cast<std::uint32_t>(v));
}

/// The Ethernet, VLAN, IP and UDP headers of one path with all constant fields set. Created once
/// per QP or address handle.
class HeaderTemplate {
  public:
    static constexpr std::size_t kMaxBytes = kEthernetBytes + kVlanBytes + kIpv6Bytes + kUdpBytes;

    HeaderTemplate() noexcept : HeaderTemplate(NetworkPath{}) {}
    explicit HeaderTemplate(const NetworkPath& path) noexcept;

    L3Kind l3() const noexcept { return l3_; }
    /// Length of all headers in front of the BTH.
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t l3_offset() const noexcept { return l3_offset_; }
    /// The headers in front of the BTH, from the destination MAC. Lengths, IPv4 identification and
    /// IPv4 checksum are zero: they are set per packet.
    std::span<const std::byte> headers() const noexcept {
        return std::span(headers_).first(bytes_);
    }
    /// Returns the length of a complete frame, without Ethernet padding; 0 for an unknown opcode.
    std::size_t frame_bytes(Opcode op, std::size_t payload_bytes) const noexcept;

  private:
    friend class FrameBuilder;
    void copy_to(std::byte* p) const noexcept;

    std::array<std::byte, kMaxBytes> headers_{};
    std::uint32_t ipv4_sum_ = 0;  ///< sum of all 16-bit words but length and id
    std::uint8_t bytes_ = 0;
    std::uint8_t l3_offset_ = 0;
    L3Kind l3_ = L3Kind::kIpv4;
};

/// Pad count of a payload: bytes up to a multiple of four.
constexpr std::uint8_t pad_for(std::size_t payload_bytes) noexcept {
    return static_cast<std::uint8_t>((0 - payload_bytes) & 3);
}

/// Builds one frame at a time in a caller's buffer. Reusable; allocates nothing.
class FrameBuilder {
  public:
    /// Writes all headers to the start of `buffer`. The pad count is computed; `headers.bth.pad` is
    /// ignored. Returns false, and writes nothing, if the opcode is unknown or the frame is longer
    /// than the buffer or kMaxFrameBytes. `ip_id` is used by IPv4 only.
    bool begin(const HeaderTemplate& path, const TransportHeaders& headers,
               std::size_t payload_bytes, std::uint16_t ip_id,
               std::span<std::byte> buffer) noexcept;

    /// The room for the payload, without pad. The caller fills all of it before finish().
    std::span<std::byte> payload() const noexcept { return payload_; }

    /// Zeroes the pad, writes the ICRC and returns the frame.
    std::span<std::byte> finish() noexcept;
    /// Copies `source` to payload() and finishes. Reads each byte once: where the processor
    /// supports it (crc_copy.h), the ICRC is computed while copying.
    std::span<std::byte> finish_copying(const std::byte* source) noexcept;
    /// finish() with an ICRC field of 0, for a frame that does not leave the host.
    std::span<std::byte> finish_without_icrc() noexcept;
    /// Length of all headers in front of the payload.
    std::size_t payload_offset() const noexcept {
        return static_cast<std::size_t>(payload_.data() - frame_.data());
    }
    /// The frame as written so far.
    std::span<const std::byte> frame() const noexcept { return frame_; }

  private:
    std::span<std::byte> frame_;
    std::span<std::byte> payload_;
    std::size_t l3_offset_ = 0;
    L3Kind l3_ = L3Kind::kIpv4;
};

}  // namespace dingo::packet
