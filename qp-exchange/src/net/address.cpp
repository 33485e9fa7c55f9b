// SPDX-License-Identifier: BSD-2-Clause
// Name resolution and formatting of addresses.
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>

#include "net/socket.h"
#include "qpx/error.h"

namespace qpx::net {

namespace {

std::string why_not(int code, const std::string& host, int family) {
    const std::string quoted = "host \"" + host + "\"";
    switch (code) {
        case EAI_AGAIN:
            return quoted + ": no name server answers; try again, or give an address";
        case EAI_NODATA:
        case EAI_ADDRFAMILY:
            return quoted + " has no " +
                   (family == AF_INET6  ? "IPv6 "
                    : family == AF_INET ? "IPv4 "
                                        : "") +
                   "address";
        case EAI_NONAME:
            return quoted + " is not known" +
                   (family == AF_UNSPEC  ? ""
                    : family == AF_INET6 ? " as an IPv6 host"
                                         : " as an IPv4 host") +
                   "; check the name, or give an address";
        case EAI_SYSTEM:
            return quoted + ": " + std::system_category().message(errno);
        default:
            return quoted + ": " + gai_strerror(code);
    }
}

}  // namespace

std::vector<Address> resolve(const std::string& host, std::uint16_t port, int family,
                             bool passive) {
    if (host.empty() && !passive) {
        throw Error(ErrorCode::Resolve, "no host is given");
    }
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    addrinfo* list = nullptr;
    const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &list);
    if (code != 0) {
        throw Error(ErrorCode::Resolve, why_not(code, host, family));
    }
    std::vector<Address> addresses;
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
        Address address;
        if (a->ai_addrlen <= sizeof(address.storage)) {
            std::memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
            address.length = a->ai_addrlen;
            addresses.push_back(address);
        }
    }
    freeaddrinfo(list);
    return addresses;
}

std::string address_text(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.storage.ss_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
        inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
        return text.data();
    }
    if (address.storage.ss_family != AF_INET6) {
        return "?";
    }
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text.data(), text.size());
        return text.data();
    }
    inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    std::string result = text.data();
    if (v6->sin6_scope_id != 0) {
        std::array<char, IF_NAMESIZE> name{};
        result += '%';
        result += if_indextoname(v6->sin6_scope_id, name.data()) != nullptr
                      ? std::string(name.data())
                      : std::to_string(v6->sin6_scope_id);
    }
    return result;
}

std::string network_of(const std::string& address) {
    in6_addr v6{};
    if (inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &v6) != 1) {
        return address;
    }
    std::fill(std::begin(v6.s6_addr) + 8, std::end(v6.s6_addr), std::uint8_t{0});
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, &v6, text.data(), text.size());
    return text.data();
}

std::uint16_t port_of(const Address& address) {
    // sin_port and sin6_port have the same offset.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::string address_port_text(const Address& address) {
    const std::string text = address_text(address);
    const bool v6 = text.find(':') != std::string::npos;
    return (v6 ? "[" + text + "]" : text) + ":" + std::to_string(port_of(address));
}

namespace {

template <class Call>
Address name_of(int fd, Call call) {
    Address address;
    address.length = sizeof(address.storage);
    if (call(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
        return {};
    }
    return address;
}

}  // namespace

Address local_address(int fd) {
    return name_of(fd, getsockname);
}
Address peer_address(int fd) {
    return name_of(fd, getpeername);
}

}  // namespace qpx::net
