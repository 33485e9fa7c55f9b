// SPDX-License-Identifier: BSD-2-Clause
//
// The invariant CRC of RoCE v2 (InfiniBand annex A17): CRC-32 over 8 bytes 0xff in place of the
// LRH, then the IP, UDP and BTH headers with the fields that routers may change set to ones, then
// the extension headers, payload and pad. Little-endian, after the pad.
//
// Set to ones: IPv4 TOS, TTL and header checksum; IPv6 traffic class, flow label and hop limit; UDP
// checksum; the BTH byte with FECN, BECN and six reserved bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/packet/headers.h"
#include "dingo/packet/parse.h"

namespace dingo::packet {

/// Computes the ICRC of `packet`, from the first byte of the IP header to the last pad byte
/// (without the ICRC); it has at least IP, UDP and BTH headers.
std::uint32_t icrc(std::span<const std::byte> packet, L3Kind l3) noexcept;

/// Returns true if the ICRC of a frame that parse() accepted (kRoce) is correct.
bool icrc_check(std::span<const std::byte> frame, const Packet& packet) noexcept;

/// Computes the ICRC of a complete frame and writes it over the last four bytes of `frame`. The IP
/// header starts at `l3_offset`; Ethernet padding must not be part of `frame`.
void icrc_append(std::span<std::byte> frame, std::size_t l3_offset, L3Kind l3) noexcept;

/// The same for a frame whose `payload` (part of `frame`, after all headers) is still at `source`.
/// Copies it and reads each byte of `source` once, so that the ICRC matches the copy even if the
/// source changes meanwhile. (Without crc_copy() the ICRC is computed over the copy.)
void icrc_append_copying(std::span<std::byte> frame, std::size_t l3_offset, L3Kind l3,
                         std::span<std::byte> payload, const std::byte* source) noexcept;

}  // namespace dingo::packet
