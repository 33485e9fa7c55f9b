// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace dingo {

/// The owner of a UDP port of this network namespace, as text: "process 123 (name)", "the kernel's
/// rdma_rxe module", or "another process" when /proc does not show it; "" when the port is free.
std::string udp_port_owner(std::uint16_t port);

}  // namespace dingo
