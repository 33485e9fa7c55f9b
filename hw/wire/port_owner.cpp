// SPDX-License-Identifier: BSD-2-Clause
#include "wire/port_owner.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace dingo {
namespace {

namespace fs = std::filesystem;

/// Inodes of the sockets bound to `port`, from one of /proc/net/udp*; 0 is none: the kernel's own.
void inodes_in(const char* table, std::uint16_t port, std::vector<std::uint64_t>& out) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::vector<std::string> f;
        for (std::string word; fields >> word;)
            f.push_back(word);
        if (f.size() < 10 || f[1].rfind(':') == std::string::npos)
            continue;
        if (std::stoul(f[1].substr(f[1].rfind(':') + 1), nullptr, 16) == port)
            out.push_back(std::stoull(f[9]));
    }
}

/// The process that has the socket open; "" when none that we may look at does.
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
        inodes_in(table, port, inodes);
    if (inodes.empty())
        return "";
    for (const std::uint64_t inode : inodes)
        if (std::string holder = holder_of(inode); !holder.empty())
            return holder;
    return fs::exists("/sys/module/rdma_rxe") ? "the kernel's rdma_rxe module"
                                              : "a process of another user, or the kernel";
}

}  // namespace dingo
