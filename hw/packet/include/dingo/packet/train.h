// SPDX-License-Identifier: BSD-2-Clause
//
// Packet trains: consecutive packets of one message as one frame, with the headers of the first
// packet and the payloads of all. They stay between cards of one host (docs/reference/
// packet-trains.md); where they do not, they are cut into the packets that they stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/packet/build.h"
#include "dingo/packet/parse.h"

namespace dingo::packet {

/// Payload bytes of a train, at most: a multiple of each PMTU, and with all headers less than IP's
/// 65,535.
inline constexpr std::size_t kMaxTrainPayload = 32UL * 1024;
/// Packets of a train, at most: those of 256 bytes.
inline constexpr unsigned kMaxTrainPackets = kMaxTrainPayload / 256;
/// Bytes of a train's frame, at most.
inline constexpr std::size_t kMaxTrainFrame =
    kMaxTrainPayload + HeaderTemplate::kMaxBytes + kMaxTransportHeaderBytes + kIcrcBytes;

/// The PMTU, in bytes, with which `payload_bytes` are cut into `packets` packets, two or more: all
/// full but the last one. There is at most one; 0: none.
std::uint32_t train_pmtu(std::size_t payload_bytes, unsigned packets) noexcept;

/// Whether packets with this opcode stand in trains: RC SENDs, WRITEs and READ responses.
bool is_train_opcode(const OpcodeTraits& op) noexcept;

/// Bytes that the packets of a train are on a wire, together. `l2_to_udp`: bytes of each in front
/// of the BTH.
std::size_t train_wire_bytes(const OpcodeTraits& op, std::size_t l2_to_udp,
                             std::size_t payload_bytes, unsigned packets) noexcept;

/// The same for a received packet, which may be a train.
std::size_t wire_bytes(const Packet& packet) noexcept;

/// Bytes of the longest of its packets.
std::size_t longest_wire_bytes(const Packet& packet) noexcept;

/// Makes the packets of a train, with their ICRCs.
class TrainCutter {
  public:
    /// `frame` is the train, `payload` its payload where that is elsewhere (null: in the frame).
    /// Both are read until the last next(). valid() is false when it is no train.
    TrainCutter(std::span<const std::byte> frame, const std::byte* payload,
                unsigned packets) noexcept;

    [[nodiscard]] bool valid() const noexcept { return pmtu_ != 0; }
    /// Writes the next frame into `room`; empty after the last, or where `room` is too small.
    std::span<const std::byte> next(std::span<std::byte> room) noexcept;

  private:
    Packet train_;
    HeaderTemplate path_;
    FrameBuilder builder_;
    std::span<const std::byte> payload_;
    std::uint32_t pmtu_ = 0;
    unsigned packets_ = 0;
    unsigned done_ = 0;
};

}  // namespace dingo::packet
