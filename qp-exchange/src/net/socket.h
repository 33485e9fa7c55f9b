// SPDX-License-Identifier: BSD-2-Clause
// TCP: names to addresses, connect, listen, accept.
#pragma once
#include <sys/socket.h>

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
/// "192.0.2.1", "2001:db8::1", "fe80::1%eth0"; IPv4-mapped ones as IPv4.
std::string address_text(const Address& address);
/// The network whose connections are counted together: an IPv4 address, or the /64 of an IPv6 one.
std::string network_of(const std::string& address);
std::uint16_t port_of(const Address& address);
/// Text with the port: "192.0.2.1:18515", "[2001:db8::1]:18515".
std::string address_port_text(const Address& address);

/// All addresses of a host. @param family 0: both. @param passive for bind; an empty host is then
/// every address
/// @throws Error(Resolve) that says which part is wrong
std::vector<Address> resolve(const std::string& host, std::uint16_t port, int family,
                             bool passive = false);

std::string errno_text(int code);
void set_option(int fd, int level, int option, int value);

/// One attempt. @return 0 or errno; ETIMEDOUT when the deadline passed, ECONNREFUSED when it met
/// itself
int try_connect(int fd, const Address& address, Deadline deadline);

/// Calls ATTEMPT(address, its share of the time) for one address after the other until it gives 0,
/// else an errno.
/// @param scheme for the error text, "" for TCP. @throws Error Refused, Timeout with the reason for
/// each address
void try_all(const std::vector<Address>& addresses, Deadline deadline, const std::string& scheme,
             const std::function<int(const Address&, Deadline)>& attempt);

/// What bind() or listen() of a port means by that errno, and what to do.
std::string why_no_listen(int error, std::uint16_t port);

/// One after the other until one answers. @throws Error Refused, Timeout with the reason for each
/// address
Fd connect_tcp(const std::vector<Address>& addresses, Deadline deadline);

/// SO_REUSEADDR; both families on one descriptor when the address is empty. @throws Error Refused
/// when taken
Fd listen_tcp(const std::string& address, std::uint16_t port, int family, int backlog = 1024);

/// The next connection; an empty Fd when there is none now. @throws Error(Limit) when the process
/// has no descriptors left
Fd accept_tcp(int listener, Address& peer);

Address local_address(int fd);
Address peer_address(int fd);

}  // namespace qpx::net
