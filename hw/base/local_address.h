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
    int mtu;  ///< of the interface; 0: unknown
};

/// Addresses of the interfaces that are up; IPv6 link-local ones are left out.
std::vector<LocalAddress> local_addresses();

/// The same as text: "10.0.0.1 (eth0), ...".
std::string local_addresses_text();

/// A destination that does not leave this host.
bool is_local_address(const std::string& address);

/// The interface that has an address of this host, also one of 127/8; 0: none.
unsigned interface_index_of(const std::string& address);

/// The kernel's MTU of the path to a destination; 0 when unknown.
int path_mtu(const std::string& address);

}  // namespace dingo
