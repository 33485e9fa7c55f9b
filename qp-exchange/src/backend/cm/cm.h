// SPDX-License-Identifier: BSD-2-Clause
// Byte streams over librdmacm (rsockets), for peers that are reachable by RDMA but not by TCP.
#pragma once
#include <memory>
#include <string>

#include "net/stream.h"

namespace qpx::backend::cm {

/// @throws Error Resolve, Refused, Timeout; Unsupported without librdmacm or the kernel module
/// rdma_ucm
std::unique_ptr<net::Stream> connect(const std::string& host, std::uint16_t port, int family,
                                     net::Deadline deadline);
std::unique_ptr<net::Acceptor> listen(const std::string& address, std::uint16_t port, int family);

}  // namespace qpx::backend::cm
