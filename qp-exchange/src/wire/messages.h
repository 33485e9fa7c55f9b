// SPDX-License-Identifier: BSD-2-Clause
// Messages between two peers, some also used with the service. Decoders validate all input.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qpx/endpoint.h"
#include "qpx/peer.h"
#include "wire/frame.h"

namespace qpx::wire {

/// Feature bits of HELLO.
inline constexpr std::uint64_t feature_peer = 1u << 0;     ///< ENDPOINTS, ACCEPT, DATA, BARRIER
inline constexpr std::uint64_t feature_service = 1u << 1;  ///< rendezvous service, types 0x40..0x7f

/// Tags, numbered separately for each message; those from 0x8000 on are for private use.
namespace tag {
inline constexpr std::uint16_t features = 1, required = 2, nonce = 3, max_frame = 4,
                               max_endpoints = 5, max_regions = 6, max_application = 7,
                               name = 8;                     // HELLO
inline constexpr std::uint16_t reason = 1, reason_text = 2;  // REFUSE, BYE
inline constexpr std::uint16_t endpoint = 1;                 // ENDPOINTS
inline constexpr std::uint16_t device = 1, region = 2, application = 3,
                               candidate = 4;  // inside an endpoint
inline constexpr std::uint16_t data = 1;       // DATA
inline constexpr std::uint16_t round = 1;      // BARRIER
}  // namespace tag

struct Hello {
    std::uint64_t features = feature_peer;
    std::uint64_t required = feature_peer;
    std::uint32_t nonce =
        0;  ///< sequence number of the first frame that the receiver sends after its HELLO
    Limits limits{};
    std::string name{};  ///< at most 255 bytes
};
void encode(std::vector<std::byte>& out, const Hello& hello);
Hello decode_hello(std::span<const std::byte> payload);
/// Returns "" if the features are compatible, else the text for a REFUSE(Feature).
std::string why_no_talk(std::uint64_t my_features, const Hello& theirs);

struct Refusal {
    Reason reason = Reason::Protocol;
    std::string text{};  ///< at most 1024 bytes are sent and read
};
void encode(std::vector<std::byte>& out, const Refusal& refusal, std::uint32_t sequence);
/// Never throws: a malformed refusal is still a refusal.
Refusal decode_refusal(std::span<const std::byte> payload) noexcept;
/// Returns the reason to send to the other side for an error that it caused.
Reason reason_of(ErrorCode code) noexcept;
/// Converts a received refusal to an error. @param who "the peer", "qpxd"
Error refused(const Refusal& refusal, std::string_view who);

/// Writes an endpoint as a field of a message.
void put(FrameWriter& writer, std::uint16_t tag, const Endpoint& endpoint);
/// Number of bytes that put() adds.
std::size_t encoded_size(const Endpoint& endpoint) noexcept;
/// Decodes an endpoint and validates it (why_invalid()). @throws Error Protocol, Limit
Endpoint get_endpoint(std::span<const std::byte> value, const Limits& limits);

void encode(std::vector<std::byte>& out, std::span<const Endpoint> endpoints,
            std::uint32_t sequence);
std::vector<Endpoint> decode_endpoints(std::span<const std::byte> payload, const Limits& limits);

}  // namespace qpx::wire
