// SPDX-License-Identifier: BSD-2-Clause
// librdmacm's objects with their ends, and words for its events.
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
/// Goes before the identifier that it tells of: rdma_destroy_id waits for it.
using CmEventPtr = std::unique_ptr<rdma_cm_event, DestroyCm>;

/// "rdma_listen: Address already in use (errno 98)".
std::string cm_failure(const char* call, int error);
/// What an event that ends an attempt means: "the peer's connection manager refused the QP: ...".
std::string cm_event_text(const rdma_cm_event& event);

/// An IP address as the connection manager takes it.
struct CmAddress {
    sockaddr_storage storage{};
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    [[nodiscard]] std::string text() const;
    void set_port(std::uint16_t port);
};
/// The address that a RoCE v2 GID stands for. @param interface of link-local ones, 0 for others
CmAddress cm_address(const std::array<std::uint8_t, 16>& gid, unsigned interface);
/// "192.0.2.1" or "fe80::1%eth0", as qpx::Connection tells them. @throws RunError(kDevice)
CmAddress cm_address(const std::string& numeric);

}  // namespace rdma_bench
