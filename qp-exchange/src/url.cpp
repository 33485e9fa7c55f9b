// SPDX-License-Identifier: BSD-2-Clause
#include "qpx/url.h"

#include <algorithm>
#include <charconv>

#include "qpx/error.h"
#include "wire/text.h"

namespace qpx {

namespace {

[[noreturn]] void wrong(std::string_view text, const std::string& why) {
    throw Error(ErrorCode::Argument, "\"" + std::string(text) + "\": " + why);
}

std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? wire::hex_digit(text[i + 1]) : -1;
        const int low = high >= 0 ? wire::hex_digit(text[i + 2]) : -1;
        if (low < 0 || high * 16 + low == 0) {
            wrong(text, "'%' must be followed by two hexadecimal digits, not 00");
        }
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

/// Returns the part before the first `separator` and leaves the part after it in `text`.
std::string_view take(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view first = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return first;
}

std::uint16_t port_number(std::string_view whole, std::string_view digits) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value == 0 ||
        value > 65535) {
        wrong(whole, "port \"" + std::string(digits) + "\" is none of 1 to 65535");
    }
    return static_cast<std::uint16_t>(value);
}

void parse_authority(std::string_view whole, std::string_view text, Url& url) {
    const auto ports = [&](std::string_view rest) {
        if (!rest.empty() && rest.front() != ':') {
            wrong(whole, "after ']' a port or nothing is expected");
        }
        if (!rest.empty()) {
            url.port = port_number(whole, rest.substr(1));
        }
    };
    if (!text.empty() && text.front() == '[') {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) {
            wrong(whole, "']' is missing");
        }
        // The zone of a link-local address may be written %25eth0 (RFC 6874) or %eth0.
        const std::string_view inner = text.substr(1, end - 1);
        url.host =
            inner.find("%25") != std::string_view::npos ? decoded(inner) : std::string(inner);
        ports(text.substr(end + 1));
        return;
    }
    const auto colons = std::count(text.begin(), text.end(), ':');
    if (colons > 1) {
        wrong(whole, "an IPv6 address needs brackets: [" + std::string(text) + "]");
    }
    const std::size_t colon = text.find(':');
    url.host = decoded(text.substr(0, colon));
    if (colon != std::string_view::npos) {
        url.port = port_number(whole, text.substr(colon + 1));
    }
}

}  // namespace

Url parse_url(std::string_view text) {
    Url url;
    const std::size_t colon = text.find(':');
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (colon == std::string_view::npos || colon == 0 ||
        !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), letter)) {
        wrong(text,
              "a URL begins with its scheme: tcp://host:port, qpxd://host:port/job, pmix:, "
              "cm://host:port");
    }
    url.scheme = text.substr(0, colon);
    std::transform(url.scheme.begin(), url.scheme.end(), url.scheme.begin(),
                   [](char c) { return c == '_' ? c : static_cast<char>(c | 0x20); });
    std::string_view rest = text.substr(colon + 1);
    if (rest.find('#') != std::string_view::npos) {
        wrong(text, "a fragment (#) has no meaning here");
    }
    std::string_view query = rest;
    rest = take(query, '?');
    if (rest.starts_with("//")) {
        rest.remove_prefix(2);
        const std::size_t slash = rest.find('/');
        std::string_view authority = rest.substr(0, slash);
        rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
        const std::size_t at = authority.rfind('@');
        if (at != std::string_view::npos) {
            std::string_view password = authority.substr(0, at);
            url.user = decoded(take(password, ':'));
            url.password = decoded(password);
            authority.remove_prefix(at + 1);
        }
        parse_authority(text, authority, url);
    }
    if (!rest.empty() && rest.front() == '/') {
        rest.remove_prefix(1);
    }
    url.path = decoded(rest);
    while (!query.empty()) {
        std::string_view value = take(query, '&');
        const std::string name = decoded(take(value, '='));
        if (!url.query.emplace(name, decoded(value)).second) {
            wrong(text, "\"" + name + "\" is given twice");
        }
    }
    return url;
}

std::string to_string(const Url& url) {
    std::string text = url.scheme + ":";
    if (!url.host.empty() || url.port != 0) {
        const bool v6 = url.host.find(':') != std::string::npos;
        text += "//" + (url.user.empty() && url.password.empty()
                            ? ""
                            : url.user + (url.password.empty() ? "@" : ":***@"));
        text += v6 ? "[" + url.host + "]" : url.host;
        if (url.port != 0) {
            text += ":" + std::to_string(url.port);
        }
        text += url.path.empty() ? "" : "/" + url.path;
    } else {
        text += url.path;
    }
    char separator = '?';
    for (const auto& [name, value] : url.query) {
        text.append(1, separator).append(name).append("=").append(value);
        separator = '&';
    }
    return text;
}

Url parse_host_port(std::string_view text, std::uint16_t default_port) {
    Url url;
    url.port = default_port;
    if (std::count(text.begin(), text.end(), ':') > 1 && text.front() != '[') {
        url.host = text;
    } else {
        parse_authority(text, text, url);
    }
    if (url.host.empty()) {
        wrong(text, "no host is given");
    }
    return url;
}

}  // namespace qpx
