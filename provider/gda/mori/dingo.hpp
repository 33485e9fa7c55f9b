// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Host side of MORI's provider for Dingo cards; hooks.py copies this file into a checkout of MORI.
// docs/mori.md.
#pragma once

#include <infiniband/dingo_gda_host.h>
#include <infiniband/dingo_gda_types.h>

#include <memory>
#include <unordered_map>

#include "mori/application/transport/rdma/rdma.hpp"

namespace mori {
namespace application {

/// Functions of libdingo-gda, which is loaded at the first use.
struct DingoGda {
    decltype(&dingo_gda_open) open = nullptr;
    decltype(&dingo_gda_close) close = nullptr;
    decltype(&dingo_gda_create) create = nullptr;
    decltype(&dingo_gda_destroy) destroy = nullptr;
    decltype(&dingo_gda_ibv_qp) ibv_qp = nullptr;
    decltype(&dingo_gda_describe) describe = nullptr;
    decltype(&dingo_gda_error) error = nullptr;

    /// Returns nullptr if the library is missing or too old.
    static const DingoGda* Get();
};

class DingoDeviceContext : public RdmaDeviceContext {
  public:
    DingoDeviceContext(RdmaDevice* device, ibv_pd* pd, const DingoGda& gda);
    ~DingoDeviceContext() override;

    /// Logs the reason and aborts on failure, like MORI's other providers.
    RdmaEndpoint CreateRdmaEndpoint(const RdmaEndpointConfig& config) override;
    void ConnectEndpoint(const RdmaEndpointHandle& local, const RdmaEndpointHandle& remote,
                         uint32_t qpId = 0) override;
    bool DestroyRdmaEndpointNoThrow(const RdmaEndpoint& endpoint) noexcept override;

  private:
    struct Queue {
        dingo_gda_queue* queue;
        void* atomic_buffer;
        bool on_gpu;
    };
    void Destroy(const Queue& queue) noexcept;
    void AddAtomicBuffer(const RdmaEndpointConfig& config, Queue& queue, RdmaEndpoint& endpoint);

    const DingoGda& gda_;
    dingo_gda* device_ = nullptr;
    std::unordered_map<uint32_t, Queue> queues_;
};

class DingoDevice : public RdmaDevice {
  public:
    /// Returns nullptr if the device is not a Dingo card (other devices have the same vendor id) or
    /// libdingo-gda is missing.
    static RdmaDevice* Make(ibv_device* device);

    RdmaDeviceContext* CreateRdmaDeviceContext() override;

  private:
    DingoDevice(ibv_device* device, const DingoGda& gda) : RdmaDevice(device), gda_(gda) {}

    const DingoGda& gda_;
};

}  // namespace application
}  // namespace mori
