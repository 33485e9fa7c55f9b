// SPDX-License-Identifier: BSD-2-Clause
//
// Packet trains: consecutive packets of one message as one frame, with the headers of the first
// packet and the payloads of all. Used between cards of one host only
// (docs/reference/packet-trains.md); elsewhere they are split into their packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/packet/build.h"
#include "dingo/packet/parse.h"

namespace dingo::packet {

/// Most payload bytes of a train: a multiple of each PMTU, and with all headers less than 65,535,
/// the limit of IP.
inline constexpr std::size_t kMaxTrainPayload = 32UL * 1024;
/// Most packets of a train: at the smallest PMTU, 256.
inline constexpr unsigned kMaxTrainPackets = kMaxTrainPayload / 256;
/// Most bytes of a train's frame.
inline constexpr std::size_t kMaxTrainFrame =
    kMaxTrainPayload + HeaderTemplate::kMaxBytes + kMaxTransportHeaderBytes + kIcrcBytes;

/// Returns the PMTU, in bytes, that splits `payload_bytes` into `packets` packets, all full but the
/// last one; at most one PMTU does. 0 if none does or packets < 2.
std::uint32_t train_pmtu(std::size_t payload_bytes, unsigned packets) noexcept;

/// Returns true if packets with this opcode may form trains: RC SENDs, WRITEs and READ responses.
bool is_train_opcode(const OpcodeTraits& op) noexcept;

/// Returns the total length of the packets of a train on a wire. `l2_to_udp`: bytes of each packet
/// in front of the BTH.
std::size_t train_wire_bytes(const OpcodeTraits& op, std::size_t l2_to_udp,
                             std::size_t payload_bytes, unsigned packets) noexcept;

/// The same for a received packet, which may be a train.
std::size_t wire_bytes(const Packet& packet) noexcept;

/// Length of the longest of its packets.
std::size_t longest_wire_bytes(const Packet& packet) noexcept;

/// Splits a train into its packets, with their ICRCs.
class TrainCutter {
  public:
    /// `frame` is the train; `payload` points to its payload if that is elsewhere (null: in the
    /// frame). Both must stay valid until the last next(). valid() is false if `frame` is no train.
    TrainCutter(std::span<const std::byte> frame, const std::byte* payload,
                unsigned packets) noexcept;

    [[nodiscard]] bool valid() const noexcept { return pmtu_ != 0; }
    /// Builds the next frame in `room`; empty after the last one, or if `room` is too small.
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
