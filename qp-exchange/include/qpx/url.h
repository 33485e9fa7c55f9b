// SPDX-License-Identifier: BSD-2-Clause
// URLs of peers and groups: tcp://host:port, qpxd://host:port/job, pmix:, cm://host:port.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace qpx {

struct Url {
    std::string scheme{};    ///< lower case
    std::string user{};      ///< decoded
    std::string password{};  ///< decoded
    std::string host{};      ///< without the brackets of an IPv6 address; may be empty
    std::uint16_t port = 0;  ///< 0: not given
    std::string path{};      ///< decoded, without the leading '/'
    std::map<std::string, std::string> query{};  ///< decoded
};

/// @throws Error(Argument) that shows the invalid part
Url parse_url(std::string_view text);

/// Formats a URL without the password, for display.
std::string to_string(const Url& url);

/// Parses "host", "host:port", "[v6]:port" or a bare IPv6 address. @throws Error(Argument)
Url parse_host_port(std::string_view text, std::uint16_t default_port);

}  // namespace qpx
#pragma GCC visibility pop
