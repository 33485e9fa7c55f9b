// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace dingo {

/// The owner of a UDP port of this network namespace, as text: "process 123 (name)", "the kernel's
/// rdma_rxe module", or "another process" when /proc does not show it; "" when the port is free.
std::string udp_port_owner(std::uint16_t port);

/// UDP sockets of this network namespace that are bound to that port of that address (IPv4 as
/// ::ffff:a.b.c.d); 0 also when /proc does not tell.
unsigned udp_sockets_at(const std::array<std::uint8_t, 16>& address, std::uint16_t port);

}  // namespace dingo
