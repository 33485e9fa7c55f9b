// SPDX-License-Identifier: BSD-2-Clause
// Private data of a connection request, which identifies the run and the QP.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rdma_bench {

/// Token chosen by the server and sent to the client over the link, to detect requests of others.
using CmToken = std::array<std::byte, 16>;
/// @throws RunError(kDevice) if the kernel provides no random numbers
CmToken random_token();
std::string token_text(const CmToken& token);
/// Returns nullopt unless the text is 32 hexadecimal digits.
std::optional<CmToken> parse_token(const std::string& text);

/// Token, then the QP's number in the run, big-endian.
using CmGreeting = std::array<std::byte, sizeof(CmToken) + sizeof(std::uint32_t)>;
CmGreeting make_greeting(const CmToken& token, std::uint32_t qp);
/// Returns the QP's number in the run; nullopt if the data is too short or of another run. Bytes
/// after the greeting are padding.
std::optional<std::uint32_t> qp_of_greeting(std::span<const std::byte> data, const CmToken& token);

}  // namespace rdma_bench
