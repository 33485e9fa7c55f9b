// SPDX-License-Identifier: BSD-2-Clause
// Private data of a connection request: which run it belongs to, and for which QP it is.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rdma_bench {

/// Chosen by the server, told to the client over the link, so that strangers' requests are known.
using CmToken = std::array<std::byte, 16>;
/// @throws RunError(kDevice) when the kernel has no random numbers
CmToken random_token();
std::string token_text(const CmToken& token);
/// Nothing unless it is 32 hexadecimal digits.
std::optional<CmToken> parse_token(const std::string& text);

/// Token, then the QP's number in the run, big-endian.
using CmGreeting = std::array<std::byte, sizeof(CmToken) + sizeof(std::uint32_t)>;
CmGreeting make_greeting(const CmToken& token, std::uint32_t qp);
/// The QP's number. Nothing when it is another run's, or is too short; what follows is padding.
std::optional<std::uint32_t> qp_of_greeting(std::span<const std::byte> data, const CmToken& token);

}  // namespace rdma_bench
