// SPDX-License-Identifier: BSD-2-Clause
// Owners of librdmacm's objects, and texts for its events and errors.
#pragma once
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "qpx/verbs.h"

namespace rdma_bench {

struct DestroyCm {
    void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
    void operator()(rdma_cm_id* id) const { rdma_destroy_id(id); }
    void operator()(rdma_cm_event* event) const { rdma_ack_cm_event(event); }
};
using CmChannelPtr = std::unique_ptr<rdma_event_channel, DestroyCm>;
using CmIdPtr = std::unique_ptr<rdma_cm_id, DestroyCm>;
/// Must be destroyed before the identifier of the event: rdma_destroy_id() waits for it.
using CmEventPtr = std::unique_ptr<rdma_cm_event, DestroyCm>;

/// Returns "rdma_listen: Address already in use (errno 98)".
std::string cm_failure(const char* call, int error);
/// Explains an event that ends an attempt: "the peer's connection manager refused the QP: ...".
std::string cm_event_text(const rdma_cm_event& event);

/// An IP address for the connection manager.
struct CmAddress {
    sockaddr_storage storage{};
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    [[nodiscard]] std::string text() const;
    void set_port(std::uint16_t port);
};
/// Converts a RoCE v2 GID. @param interface index for link-local addresses, 0 for others
CmAddress cm_address(const std::array<std::uint8_t, 16>& gid, unsigned interface);
/// Parses "192.0.2.1" or "fe80::1%eth0", as returned by qpx::Connection. @throws RunError(kDevice)
CmAddress cm_address(const std::string& numeric);

}  // namespace rdma_bench
