// SPDX-License-Identifier: BSD-2-Clause
#include "base/local_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/unique_fd.h"

namespace dingo {
namespace {

unsigned prefix_of(const sockaddr* mask) {
    if (mask == nullptr)
        return 0;
    const bool v6 = mask->sa_family == AF_INET6;
    std::array<unsigned char, 16> bytes{};
    if (v6)
        std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, 16);
    else
        std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, 4);
    unsigned out = 0;
    for (const unsigned char byte : bytes)
        out += static_cast<unsigned>(std::popcount(byte));
    return out;
}

int interface_mtu(const char* name) {
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    return fd && ::ioctl(fd.get(), SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

}  // namespace

std::vector<LocalAddress> local_addresses() {
    std::vector<LocalAddress> out;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0)
        return out;
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0)
            continue;
        std::array<char, INET6_ADDRSTRLEN> text{};
        if (i->ifa_addr->sa_family == AF_INET) {
            ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr,
                        text.data(), text.size());
        } else if (i->ifa_addr->sa_family == AF_INET6) {
            const auto& a = reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
            if (IN6_IS_ADDR_LINKLOCAL(&a))
                continue;
            ::inet_ntop(AF_INET6, &a, text.data(), text.size());
        } else {
            continue;
        }
        out.push_back({text.data(), prefix_of(i->ifa_netmask), i->ifa_name,
                       (i->ifa_flags & IFF_LOOPBACK) != 0, interface_mtu(i->ifa_name)});
    }
    ::freeifaddrs(list);
    return out;
}

std::string local_addresses_text() {
    std::string out;
    for (const LocalAddress& a : local_addresses())
        out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", a.address, a.interface);
    return out;
}

bool is_local_address(const std::string& address) {
    if (address.starts_with("127."))
        return true;
    const auto all = local_addresses();
    return std::any_of(all.begin(), all.end(),
                       [&](const LocalAddress& a) { return a.address == address; });
}

unsigned interface_index_of(const std::string& address) {
    const bool any_loopback = address.starts_with("127.");
    for (const LocalAddress& a : local_addresses())
        if (a.address == address || (any_loopback && a.loopback))
            return ::if_nametoindex(a.interface.c_str());
    return 0;
}

int path_mtu(const std::string& address) {
    const bool v6 = address.find(':') != std::string::npos;
    sockaddr_in6 to6{};
    sockaddr_in to4{};
    to6.sin6_family = AF_INET6;
    to4.sin_family = AF_INET;
    to6.sin6_port = to4.sin_port = htons(4791);
    if (::inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(),
                    v6 ? static_cast<void*>(&to6.sin6_addr) : &to4.sin_addr) != 1)
        return 0;
    const UniqueFd fd(::socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto* const to =
        v6 ? reinterpret_cast<const sockaddr*>(&to6) : reinterpret_cast<const sockaddr*>(&to4);
    int mtu = 0;
    socklen_t len = sizeof mtu;
    if (!fd || ::connect(fd.get(), to, v6 ? sizeof to6 : sizeof to4) != 0 ||
        ::getsockopt(fd.get(), v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu,
                     &len) != 0)
        return 0;
    return mtu;
}

}  // namespace dingo
