// SPDX-License-Identifier: BSD-2-Clause
#include "wire/port_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "dingo/packet/address.h"

namespace dingo {
namespace {

namespace fs = std::filesystem;

/// A line of /proc/net/udp or udp6.
struct Bound {
    std::string address;  ///< hexadecimal 32-bit words, as in the file
    unsigned long port = 0;
    std::uint64_t inode = 0;  ///< 0: a socket of the kernel
};

std::vector<Bound> bound_sockets(const char* table) {
    std::vector<Bound> out;
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::vector<std::string> f;
        for (std::string word; fields >> word;)
            f.push_back(word);
        if (f.size() < 10)
            continue;
        const std::size_t colon = f[1].rfind(':');
        if (colon != std::string::npos)
            out.push_back({f[1].substr(0, colon), std::stoul(f[1].substr(colon + 1), nullptr, 16),
                           std::stoull(f[9])});
    }
    return out;
}

/// Returns the process that has the socket open; "" if none is found or /proc denies access.
std::string holder_of(std::uint64_t inode) {
    const std::string wanted = fmt::format("socket:[{}]", inode);
    std::error_code error;
    for (const auto& process : fs::directory_iterator("/proc", error)) {
        const std::string pid = process.path().filename();
        if (std::isdigit(static_cast<unsigned char>(pid[0])) == 0)
            continue;
        std::error_code denied;
        for (const auto& fd : fs::directory_iterator(process.path() / "fd", denied)) {
            std::error_code gone;
            if (fs::read_symlink(fd.path(), gone) != wanted)
                continue;
            std::ifstream comm(process.path() / "comm");
            std::string name;
            std::getline(comm, name);
            return fmt::format("process {} ({})", pid, name);
        }
    }
    return "";
}

}  // namespace

std::string udp_port_owner(std::uint16_t port) {
    std::vector<std::uint64_t> inodes;
    for (const char* table : {"/proc/net/udp", "/proc/net/udp6"})
        for (const Bound& socket : bound_sockets(table))
            if (socket.port == port)
                inodes.push_back(socket.inode);
    if (inodes.empty())
        return "";
    for (const std::uint64_t inode : inodes)
        if (std::string holder = holder_of(inode); !holder.empty())
            return holder;
    return fs::exists("/sys/module/rdma_rxe") ? "the kernel's rdma_rxe module"
                                              : "a process of another user, or the kernel";
}

unsigned udp_sockets_at(const std::array<std::uint8_t, 16>& address, std::uint16_t port) {
    const bool ipv4 = packet::Gid{address}.is_ipv4_mapped();
    std::string text;
    for (std::size_t i = ipv4 ? 12 : 0; i < address.size(); i += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, &address.at(i), sizeof word);
        text += fmt::format("{:08X}", word);
    }
    const auto sockets = bound_sockets(ipv4 ? "/proc/net/udp" : "/proc/net/udp6");
    return static_cast<unsigned>(std::ranges::count_if(sockets, [&](const Bound& socket) {
        return socket.address == text && socket.port == port;
    }));
}

}  // namespace dingo
