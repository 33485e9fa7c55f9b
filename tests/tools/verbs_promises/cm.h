// SPDX-License-Identifier: BSD-2-Clause
//
// rdma_cm identifiers and connections to the device's own address.
#pragma once

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include "bench.h"

namespace verbs_promises {

using EventChannel = std::unique_ptr<rdma_event_channel, Destroyer<&rdma_destroy_event_channel>>;
using CmId = std::unique_ptr<rdma_cm_id, Destroyer<&rdma_destroy_id>>;

constexpr int kMs = 5000;  ///< timeout for resolving

/// Returns the device's address; throws Lacking if it has none.
sockaddr_in own_address(std::uint16_t port = 0);
inline sockaddr* generic(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
}

EventChannel event_channel();
CmId cm_id(rdma_event_channel* channel, rdma_port_space space = RDMA_PS_TCP,
           void* context = nullptr);

/// The next event, which must be `type`; the destructor acknowledges it.
class Event {
  public:
    Event(rdma_event_channel* channel, rdma_cm_event_type type);
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    rdma_cm_event* operator->() const { return event_; }

  private:
    rdma_cm_event* event_ = nullptr;
};

/// A listener, and a client that has resolved its route to it, with a channel each.
struct Dialog {
    explicit Dialog(rdma_port_space space = RDMA_PS_TCP, ibv_qp_type type = IBV_QPT_RC);
    ~Dialog();
    /// The client sends a connection request with this private data; sets `server` to the new
    /// identifier.
    void ask(const void* data = nullptr, std::uint8_t bytes = 0);
    /// The server accepts; returns when both are established.
    void accept(const void* data = nullptr, std::uint8_t bytes = 0);
    void make_qp(rdma_cm_id* id);
    static rdma_conn_param parameters(const void* data, std::uint8_t bytes);

    ibv_qp_type type;
    EventChannel listening, asking;
    CmId listener, client;
    rdma_cm_id* server = nullptr;
    std::vector<std::uint8_t> asked_with;  ///< private data that the server received
    std::vector<std::uint8_t> answered_with;
};

}  // namespace verbs_promises
