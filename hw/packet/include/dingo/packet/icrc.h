// SPDX-License-Identifier: BSD-2-Clause
//
// The invariant CRC of RoCE v2 (InfiniBand annex A17): CRC-32 over 8 bytes 0xff in the place of
// the LRH, the IP, UDP and BTH headers with the fields that routers may change replaced by ones,
// the extension headers, payload and pad. It stands little-endian behind the pad.
//
// Replaced by ones: IPv4 TOS, TTL and header checksum; IPv6 traffic class, flow label and hop
// limit; UDP checksum; the BTH byte with FECN, BECN and six reserved bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dingo/packet/headers.h"
#include "dingo/packet/parse.h"

namespace dingo::packet {

/// ICRC of `packet`, which reaches from the first byte of the IP header to the last pad byte (the
/// ICRC itself excluded) and holds at least IP, UDP and BTH headers.
std::uint32_t icrc(std::span<const std::byte> packet, L3Kind l3) noexcept;

/// True when the ICRC of a frame for which parse() said kRoce fits.
bool icrc_check(std::span<const std::byte> frame, const Packet& packet) noexcept;

/// Computes the ICRC of a complete frame and writes it over the last four bytes of `frame`. The IP
/// header starts at `l3_offset`; Ethernet padding must not be part of `frame`.
void icrc_append(std::span<std::byte> frame, std::size_t l3_offset, L3Kind l3) noexcept;

/// The same for a frame whose `payload` (part of `frame`, behind all headers) is still at `source`.
/// Copies it, reading each byte of `source` once, so that the ICRC fits the copy even if the source
/// changes meanwhile.
void icrc_append_copying(std::span<std::byte> frame, std::size_t l3_offset, L3Kind l3,
                         std::span<std::byte> payload, const std::byte* source) noexcept;

}  // namespace dingo::packet
