// SPDX-License-Identifier: BSD-2-Clause
//
// Host side, with the names of the MORI example: contexts, endpoints, memory regions.
#pragma once

#include <infiniband/dingodv.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../verbs.h"
#include "dingo_gda_host.h"

namespace gpu_interchange {

using examples::Owned;

/// Throws std::runtime_error with the step and the texts of errno and libdingo-gda; so do all
/// calls.
[[noreturn]] void fail(const std::string& step, int error);

struct RdmaEndpointHandle {
    std::uint32_t qpn = 0;
    ibv_gid gid{};
};

struct RdmaMemoryRegion {
    void* addr = nullptr;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
    std::size_t length = 0;
};

struct RdmaEndpoint {
    RdmaEndpointHandle handle;
    Owned<dingo_gda_queue, dingo_gda_destroy> queue;
};

/// An active port.
struct ActiveDevicePort {
    ibv_device* device;
    std::uint8_t port;
};

/// Devices of this machine to which a GPU can post: Dingo cards.
class RdmaContext {
  public:
    RdmaContext();
    [[nodiscard]] const std::vector<ibv_device*>& devices() const { return devices_; }
    [[nodiscard]] std::vector<ActiveDevicePort> active_ports() const;

  private:
    Owned<ibv_device*, ibv_free_device_list> list_;
    std::vector<ibv_device*> devices_;
};

class RdmaDeviceContext {
  public:
    RdmaDeviceContext(const ActiveDevicePort& port, dingo_gda* gpu);
    [[nodiscard]] RdmaEndpoint create_endpoint() const;
    void connect(const RdmaEndpoint& local, const RdmaEndpointHandle& remote) const;
    RdmaMemoryRegion register_memory(void* at, std::size_t bytes);

  private:
    std::uint8_t port_;
    dingo_gda* gpu_;
    Owned<ibv_context, ibv_close_device> context_;
    Owned<ibv_pd, ibv_dealloc_pd> pd_;
    std::vector<Owned<ibv_mr, ibv_dereg_mr>> regions_;
    ibv_gid gid_{};
    std::uint8_t gid_index_ = 0;
};

}  // namespace gpu_interchange
