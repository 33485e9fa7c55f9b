// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace dingo {

struct LocalAddress {
    std::string address;
    unsigned prefix;
    std::string interface;
    bool loopback;
    int mtu;  ///< of the interface; 0 if unknown
};

/// Returns the addresses of all interfaces that are up, without IPv6 link-local ones.
std::vector<LocalAddress> local_addresses();

/// The same as text: "10.0.0.1 (eth0), ...".
std::string local_addresses_text();

/// Returns true if packets to this address do not leave the host.
bool is_local_address(const std::string& address);

/// Returns the index of the interface that has this address (127/8: the loopback interface), or 0.
unsigned interface_index_of(const std::string& address);

/// Returns the kernel's path MTU to a destination; 0 if unknown.
int path_mtu(const std::string& address);

}  // namespace dingo
