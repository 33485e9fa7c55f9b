// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace dingo {

/// Who holds a UDP port of this network namespace, for people: "process 123 (name)", "the kernel's
/// rdma_rxe module", "another process" where we may not look; "" when nobody does.
std::string udp_port_owner(std::uint16_t port);

}  // namespace dingo
