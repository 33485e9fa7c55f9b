// SPDX-License-Identifier: BSD-2-Clause
#include "cm/greeting.h"

#include <endian.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "exit.h"
#include "verbs/explain.h"

namespace rdma_bench {

CmToken random_token() {
    CmToken token;
    if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
        throw RunError(Exit::kDevice, explain_errno("getrandom", errno));
    }
    return token;
}

std::string token_text(const CmToken& token) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : token) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
        text += kDigits[std::to_integer<unsigned>(byte) & 0xfU];
    }
    return text;
}

std::optional<CmToken> parse_token(const std::string& text) {
    CmToken token;
    if (text.size() != 2 * token.size()) {
        return std::nullopt;
    }
    const char* at = text.data();
    for (std::byte& byte : token) {
        unsigned char value = 0;
        const auto read = std::from_chars(at, at + 2, value, 16);
        if (read.ec != std::errc() || read.ptr != at + 2) {
            return std::nullopt;
        }
        byte = std::byte{value};
        at += 2;
    }
    return token;
}

CmGreeting make_greeting(const CmToken& token, std::uint32_t qp) {
    CmGreeting greeting;
    std::copy(token.begin(), token.end(), greeting.begin());
    const std::uint32_t number = htobe32(qp);
    std::memcpy(greeting.data() + token.size(), &number, sizeof number);
    return greeting;
}

std::optional<std::uint32_t> qp_of_greeting(std::span<const std::byte> data, const CmToken& token) {
    if (data.size() < sizeof(CmGreeting) || !std::equal(token.begin(), token.end(), data.begin())) {
        return std::nullopt;
    }
    std::uint32_t number;
    std::memcpy(&number, data.data() + token.size(), sizeof number);
    return be32toh(number);
}

}  // namespace rdma_bench
