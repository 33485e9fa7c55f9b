// SPDX-License-Identifier: BSD-2-Clause
#include "wire/roce_guard.h"

#include <fmt/format.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "wire/port_owner.h"
#include "wire/roce_socket.h"

namespace dingo {
namespace {

bool bind_all(int socket, int family) {
    if (family == AF_INET) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(kRocePort);
        return ::bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
    }
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(kRocePort);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return ::bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
}

/// Drops all datagrams to the guard's socket, so that none are queued.
void take_nothing(int socket) {
    sock_filter drop{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
    const sock_fprog program{.len = 1, .filter = &drop};
    ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

}  // namespace

void live_beside_guards(int socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

RoceGuard::RoceGuard(int family) : socket_(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    take_nothing(socket_.get());
    live_beside_guards(socket_.get());
    if (bind_all(socket_.get(), family))
        return;
    const int error = errno;
    socket_.reset();
    const std::string owner = udp_port_owner(kRocePort);
    fmt::print(stderr,
               "roce wire: cannot reserve UDP port 4791 of all addresses ({}{}{}): other users of "
               "this host can send packets that seem to come from this card\n",
               std::strerror(error), owner.empty() ? "" : "; ", owner);
}

}  // namespace dingo
