// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace dingo {

/// Returns the owner of a UDP port in this network namespace as text: "process 123 (name)", or if
/// /proc shows no process, "the kernel's rdma_rxe module" if that is loaded, else "a process of
/// another user, or the kernel"; "" if the port is free.
std::string udp_port_owner(std::uint16_t port);

/// Returns the number of UDP sockets in this network namespace that are bound to this address (IPv4
/// as ::ffff:a.b.c.d) and port; 0 also if /proc cannot be read.
unsigned udp_sockets_at(const std::array<std::uint8_t, 16>& address, std::uint16_t port);

}  // namespace dingo
