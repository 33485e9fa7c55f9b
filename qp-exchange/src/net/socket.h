// SPDX-License-Identifier: BSD-2-Clause
// TCP sockets: name resolution, connect, listen, accept.
#pragma once
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/stream.h"

namespace qpx::net {

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
/// Formats as "192.0.2.1", "2001:db8::1", "fe80::1%eth0"; IPv4-mapped addresses as IPv4.
std::string address_text(const Address& address);
/// Returns the key by which connections are counted: the IPv4 address, or the /64 of an IPv6
/// address.
std::string network_of(const std::string& address);
std::uint16_t port_of(const Address& address);
/// Formats with the port: "192.0.2.1:18515", "[2001:db8::1]:18515".
std::string address_port_text(const Address& address);

/// Returns all addresses of a host. @param family 0: both. @param passive for bind(); an empty host
/// then means all addresses. @throws Error(Resolve) that says which part is wrong
std::vector<Address> resolve(const std::string& host, std::uint16_t port, int family,
                             bool passive = false);

std::string errno_text(int code);
void set_option(int fd, int level, int option, int value);

/// Tries to connect once. @return 0 or errno; ETIMEDOUT if the deadline passed, ECONNREFUSED if the
/// socket connected to itself
int try_connect(int fd, const Address& address, Deadline deadline);

/// Calls attempt(address, its share of the time) for each address until it returns 0; other results
/// are errno values. @param scheme for the error text, "" for TCP
/// @throws Error Refused, Timeout with the reason for each address
void try_all(const std::vector<Address>& addresses, Deadline deadline, const std::string& scheme,
             const std::function<int(const Address&, Deadline)>& attempt);

/// Explains an errno of bind() or listen() and what to do.
std::string why_no_listen(int error, std::uint16_t port);

/// Tries the addresses in turn until one accepts. @throws Error Refused, Timeout with the reason
/// for each address
Fd connect_tcp(const std::vector<Address>& addresses, Deadline deadline);

/// Listens with SO_REUSEADDR, on both families if the address is empty.
/// @throws Error Refused if the port is in use
Fd listen_tcp(const std::string& address, std::uint16_t port, int family, int backlog = 1024);

/// Data that the peer has not acknowledged, and the last signs of its life.
struct Unacknowledged {
    bool some = false;
    unsigned retries = 0;  ///< retransmissions, or probes of a closed window, without an answer
    std::chrono::milliseconds silence{};  ///< time since anything was received
};
Unacknowledged unacknowledged(int fd);

/// Accepts the next connection; returns an empty Fd if none is queued. @throws Error(Limit) if the
/// process has no descriptors left
Fd accept_tcp(int listener, Address& peer);

Address local_address(int fd);
Address peer_address(int fd);

}  // namespace qpx::net
