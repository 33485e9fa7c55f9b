// SPDX-License-Identifier: BSD-2-Clause
#include "wire/segmenting.h"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/local_address.h"
#include "base/unique_fd.h"

namespace dingo {
namespace {

/// Returns the address of this host from which packets to `destination` leave.
std::string source_to(const std::string& destination) {
    const bool v6 = destination.find(':') != std::string::npos;
    sockaddr_in6 six{};
    sockaddr_in four{};
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    six.sin6_port = four.sin_port = htons(4791);
    void* const at = v6 ? static_cast<void*>(&six.sin6_addr) : &four.sin_addr;
    auto* const name = v6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    socklen_t size = v6 ? sizeof six : sizeof four;
    const int family = v6 ? AF_INET6 : AF_INET;
    const UniqueFd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd || ::inet_pton(family, destination.c_str(), at) != 1 ||
        ::connect(fd.get(), name, size) != 0 || ::getsockname(fd.get(), name, &size) != 0)
        return "";
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(family, at, text.data(), text.size());
    return text.data();
}

}  // namespace

std::string interface_to(const std::string& destination) {
    const std::string source = source_to(destination);
    for (const LocalAddress& address : local_addresses())
        if (address.address == source)
            return address.interface;
    return "";
}

std::string driver_of(const std::string& interface) {
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
    request.ifr_data = reinterpret_cast<char*>(&info);
    if (!fd || ::ioctl(fd.get(), SIOCETHTOOL, &request) != 0)
        return "";
    return {info.driver, ::strnlen(info.driver, sizeof info.driver)};
}

bool is_captured(std::string_view table, unsigned index) {
    std::istringstream lines{std::string(table)};
    std::string line;
    std::getline(lines, line);  // column titles
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string socket, count, type, protocol;
        unsigned of = 0;
        if (!(words >> socket >> count >> type >> protocol >> of) || (of != 0 && of != index))
            continue;
        const auto is = [&](unsigned p) { return std::stoul(protocol, nullptr, 16) == p; };
        if (protocol.size() == 4 && (is(ETH_P_ALL) || is(ETH_P_IP) || is(ETH_P_IPV6)))
            return true;
    }
    return false;
}

bool segmenting_helps(const std::string& destination) {
    return is_local_address(destination) || segmenting_helps_on(interface_to(destination));
}

bool segmenting_helps_on(const std::string& interface) {
    const std::string driver = interface.empty() ? "" : driver_of(interface);
    if (driver != "veth" && driver != "bridge")
        return false;
    std::ifstream file("/proc/net/packet");
    std::stringstream table;
    table << file.rdbuf();
    return !is_captured(table.str(), ::if_nametoindex(interface.c_str()));
}

}  // namespace dingo
