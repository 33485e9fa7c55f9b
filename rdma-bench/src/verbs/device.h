// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report/result.h"

namespace rdma_bench {

/// An open device and one of its ports.
class Device {
  public:
    /// @param name empty: the first device @throws RunError(kDevice) that lists the existing
    /// devices, or says what is wrong with the port
    Device(const std::string& name, std::uint8_t port);

    [[nodiscard]] ibv_context* context() const { return context_.get(); }
    [[nodiscard]] ibv_pd* pd() const { return pd_.get(); }
    [[nodiscard]] std::uint8_t port() const { return port_; }
    [[nodiscard]] const ibv_device_attr& limits() const { return limits_; }
    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::uint32_t active_mtu() const;  ///< bytes
    [[nodiscard]] bool ethernet() const { return port_attr_.link_layer == IBV_LINK_LAYER_ETHERNET; }
    /// Returns the facts for the report, except the GID, which is chosen per connection.
    [[nodiscard]] DeviceFacts facts() const;

  private:
    struct Close {
        void operator()(ibv_context* context) const { ibv_close_device(context); }
        void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
    };
    std::uint8_t port_;
    std::unique_ptr<ibv_context, Close> context_;
    std::unique_ptr<ibv_pd, Close> pd_;
    ibv_device_attr limits_{};
    ibv_port_attr port_attr_{};
};

/// Returns the names of all devices; empty also on errors.
std::vector<std::string> device_names();

/// Returns host name, kernel, processor, and the device's facts.
HostFacts host_facts(const Device& device);

}  // namespace rdma_bench
