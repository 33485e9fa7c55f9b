// SPDX-License-Identifier: BSD-2-Clause
#include "net/socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "qpx/error.h"

namespace qpx::net {

namespace {

bool same(const Address& a, const Address& b) {
    return a.length == b.length && std::memcmp(&a.storage, &b.storage, a.length) == 0;
}

/// Returns the deadline of the next of `parts` attempts, which share the remaining time equally.
Deadline share(Deadline deadline, std::size_t parts) {
    if (deadline.at() == Clock::time_point::max()) {
        return deadline;
    }
    const auto left = std::max(deadline.at() - Clock::now(), Clock::duration::zero());
    return deadline.moved_to(Clock::now() +
                             left / static_cast<Clock::rep>(std::max<std::size_t>(parts, 1)));
}

}  // namespace

std::string errno_text(int code) {
    return std::system_category().message(code);
}

void set_option(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof(value));
}

Unacknowledged unacknowledged(int fd) {
    int bytes = 0;
    tcp_info info{};
    socklen_t length = sizeof(info);
    if (ioctl(fd, SIOCOUTQ, &bytes) != 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
        return {};
    }
    return {.some = bytes > 0,
            .retries = std::max<unsigned>(info.tcpi_retransmits, info.tcpi_probes),
            .silence = std::chrono::milliseconds(
                std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv))};
}

int try_connect(int fd, const Address& address, Deadline deadline) {
    if (connect(fd, address.get(), address.length) != 0 && errno != EINPROGRESS) {
        return errno;
    }
    pollfd ready = {fd, POLLOUT, 0};
    if (!deadline.wait({&ready, 1})) {
        return ETIMEDOUT;
    }
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    // A socket may connect to itself if the port is closed and in the ephemeral range.
    if (error == 0 && same(local_address(fd), peer_address(fd))) {
        return ECONNREFUSED;
    }
    return error;
}

void try_all(const std::vector<Address>& addresses, Deadline deadline, const std::string& scheme,
             const std::function<int(const Address&, Deadline)>& attempt) {
    std::string tried;
    bool timed_out = false;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const int error = attempt(addresses[i], share(deadline, addresses.size() - i));
        if (error == 0) {
            return;
        }
        timed_out |= error == ETIMEDOUT;
        tried += (tried.empty() ? "" : "; ") + scheme + address_port_text(addresses[i]) + ": " +
                 (error == ECONNREFUSED ? "nobody listens on this port"
                  : error == ETIMEDOUT  ? "no answer in time (wrong address, or a firewall)"
                                        : errno_text(error));
    }
    throw Error(timed_out ? ErrorCode::Timeout : ErrorCode::Refused,
                "cannot connect to " + tried + "; is the server running, on this host and port?");
}

Fd connect_tcp(const std::vector<Address>& addresses, Deadline deadline) {
    Fd connected;
    try_all(addresses, deadline, "", [&](const Address& address, Deadline until) {
        Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (fd.get() < 0) {
            return errno;
        }
        const int error = try_connect(fd.get(), address, until);
        if (error == 0) {
            connected = std::move(fd);
        }
        return error;
    });
    return connected;
}

namespace {

Fd try_listen(const Address& address, int backlog, bool dual, int& error) {
    Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0) {
        error = errno;
        return fd;
    }
    // Allows a restart while connections of the previous run are in TIME_WAIT.
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (address.storage.ss_family == AF_INET6) {
        set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, dual ? 0 : 1);
    }
    if (bind(fd.get(), address.get(), address.length) != 0 || ::listen(fd.get(), backlog) != 0) {
        error = errno;
        return Fd();
    }
    error = 0;
    return fd;
}

}  // namespace

std::string why_no_listen(int error, std::uint16_t port) {
    switch (error) {
        case EADDRINUSE:
            return "port " + std::to_string(port) +
                   " is taken: another program, or another run of this one, listens there; choose "
                   "another port";
        case EADDRNOTAVAIL:
            return "this host does not have that address";
        case EACCES:
            return "ports below 1024 need root or CAP_NET_BIND_SERVICE";
        default:
            return errno_text(error);
    }
}

Fd listen_tcp(const std::string& address, std::uint16_t port, int family, int backlog) {
    std::vector<Address> candidates = resolve(address, port, family, true);
    const bool any = address.empty();
    if (any) {
        // IPv6 first: its wildcard address also accepts IPv4.
        std::stable_sort(
            candidates.begin(), candidates.end(), [](const Address& a, const Address& b) {
                return a.storage.ss_family == AF_INET6 && b.storage.ss_family != AF_INET6;
            });
    }
    int error = 0;
    for (const Address& candidate : candidates) {
        Fd fd = try_listen(candidate, backlog, any && family != AF_INET6, error);
        if (fd.get() >= 0) {
            return fd;
        }
        if (error == EADDRINUSE) {
            break;
        }
    }
    throw Error(ErrorCode::Refused,
                "cannot listen on " +
                    (any ? "port " + std::to_string(port) : address_port_text(candidates.at(0))) +
                    ": " + why_no_listen(error, port));
}

Fd accept_tcp(int listener, Address& peer) {
    peer.length = sizeof(peer.storage);
    Fd fd(accept4(listener, reinterpret_cast<sockaddr*>(&peer.storage), &peer.length,
                  SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0 &&
        (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        throw Error(ErrorCode::Limit,
                    "cannot take more connections: " + errno_text(errno) + " (ulimit -n)");
    }
    return fd;
}

}  // namespace qpx::net
