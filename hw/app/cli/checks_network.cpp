// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "app/cli/cards.h"
#include "app/cli/checks.h"
#include "base/local_address.h"
#include "base/unique_fd.h"
#include "wire/port_owner.h"
#include "wire/segmenting.h"

namespace dingo::cli {
namespace {

constexpr std::uint16_t kRocePort = 4791;

Finding kernel_devices() {
    std::string names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", error))
        names += fmt::format("{}{}", names.empty() ? "" : " ", entry.path().filename().string());
    if (std::getenv("DINGO_VIEW") != nullptr)
        return {Verdict::kOk, "RDMA devices",
                fmt::format("{} (this is a view of `dingo run`)", names.empty() ? "none" : names),
                ""};
    if (names.empty())
        return {Verdict::kOk, "kernel RDMA", "no devices: only Dingo's cards will be seen", ""};
    return {Verdict::kOk, "kernel RDMA",
            fmt::format("{}: hidden from programs under `dingo run`", names), ""};
}

Finding roce_port() {
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(kRocePort);
    if (fd && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0)
        return {Verdict::kOk, "UDP port 4791", "free, for --wire roce", ""};
    const int error = errno;
    if (!fd)
        return {Verdict::kWarn, "UDP port 4791", std::strerror(error), "--wire roce needs sockets"};
    const std::string owner = udp_port_owner(kRocePort);
    if (owner.find("(dingo-card)") != std::string::npos)
        return {Verdict::kOk, "UDP port 4791", fmt::format("held by {}", owner), ""};
    return {Verdict::kWarn, "UDP port 4791",
            fmt::format("{}{}{}", std::strerror(error), owner.empty() ? "" : "; held by ", owner),
            owner.find("rdma_rxe") != std::string::npos
                ? "only --wire roce needs it; to free it: rmmod rdma_rxe (as root)"
                : "only --wire roce needs it; stop that process, or bind to another address: "
                  "--wire roce:IP"};
}

/// Reports the limits of the wire `roce` on an interface.
Finding roce_limits(const LocalAddress& a) {
    constexpr int kHeaders = 40 + 8 + 12 + 28 + 4;  // IPv6, UDP, BTH, the longest extension, ICRC
    int fits = 4096;
    while (fits > 256 && fits + kHeaders > a.mtu)
        fits /= 2;
    const std::string driver = driver_of(a.interface);
    const bool runs = driver == "veth" || driver == "bridge";
    std::string text = fmt::format("{}{}{}: MTU {} allows path MTU {}; ", a.interface,
                                   driver.empty() ? "" : ", ", driver, a.mtu, fits);
    if (!runs)
        text += "no segmentation offload (gso=on turns it on)";
    else if (segmenting_helps_on(a.interface))
        text += "segmentation offload (GSO) is used";
    else
        text += "no segmentation offload (GSO) while the interface is captured";
    return {Verdict::kOk, "--wire roce", text,
            fits == 4096
                ? ""
                : fmt::format("larger packets are faster: ip link set {} mtu 4200, as root, "
                              "at both ends",
                              a.interface)};
}

Finding loopback() {
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    if (fd && ::ioctl(fd.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0)
        return {Verdict::kOk, "loopback", "up", ""};
    return {Verdict::kWarn, "loopback", "interface lo is down",
            "programs that meet over localhost need it: ip link set lo up (as root)"};
}

}  // namespace

void check_network(std::vector<Finding>& out) {
    out.push_back(kernel_devices());
    out.push_back(roce_port());
    out.push_back(loopback());
    std::set<std::string> seen;
    for (const LocalAddress& address : local_addresses())
        if (!address.loopback && seen.insert(address.interface).second)
            out.push_back(roce_limits(address));
}

}  // namespace dingo::cli
