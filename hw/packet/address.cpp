// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace dingo::packet {

std::string to_string(const Mac& mac) {
    const auto& b = mac.bytes;
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3], b[4],
                       b[5]);
}

std::string to_string(const Gid& gid) {
    char text[INET6_ADDRSTRLEN];
    const bool v4 = gid.is_ipv4_mapped();
    const void* address = v4 ? gid.bytes.data() + 12 : gid.bytes.data();
    return inet_ntop(v4 ? AF_INET : AF_INET6, address, text, sizeof text) != nullptr ? text : "";
}

std::optional<Mac> parse_mac(std::string_view text) {
    constexpr std::size_t kTextBytes = 17;  // six pairs of digits, five colons
    if (text.size() != kTextBytes)
        return std::nullopt;
    Mac mac;
    for (std::size_t i = 0; i < mac.bytes.size(); ++i) {
        const char* p = text.data() + 3 * i;
        if (i > 0 && p[-1] != ':')
            return std::nullopt;
        if (const auto [end, error] = std::from_chars(p, p + 2, mac.bytes[i], 16);
            error != std::errc() || end != p + 2)
            return std::nullopt;
    }
    return mac;
}

std::optional<Gid> parse_gid(std::string_view text) {
    const std::string copy(text);
    if (copy.size() != std::strlen(copy.c_str()))
        return std::nullopt;
    std::uint8_t v4[4];
    if (inet_pton(AF_INET, copy.c_str(), v4) == 1)
        return Gid::from_ipv4(std::uint32_t{v4[0]} << 24 | std::uint32_t{v4[1]} << 16 |
                              std::uint32_t{v4[2]} << 8 | v4[3]);
    Gid gid;
    if (inet_pton(AF_INET6, copy.c_str(), gid.bytes.data()) == 1)
        return gid;
    return std::nullopt;
}

}  // namespace dingo::packet
