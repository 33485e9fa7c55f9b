// SPDX-License-Identifier: BSD-2-Clause
// Byte streams over librdmacm (rsockets): a way to a peer that RDMA reaches and TCP does not.
#pragma once
#include <memory>
#include <string>

#include "net/stream.h"

namespace qpx::backend::cm {

/// @throws Error Resolve, Refused, Timeout; Unsupported without librdmacm or without the kernel's
/// rdma_ucm
std::unique_ptr<net::Stream> connect(const std::string& host, std::uint16_t port, int family,
                                     net::Deadline deadline);
std::unique_ptr<net::Acceptor> listen(const std::string& address, std::uint16_t port, int family);

}  // namespace qpx::backend::cm
