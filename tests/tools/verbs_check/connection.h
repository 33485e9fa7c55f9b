// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace verbs_check {

/// A message over TCP: connection parameters, a request or an answer of the test. Both ends must be
/// the same program on the same architecture.
struct Message {
    std::uint32_t command = 0;
    std::uint32_t length = 0;
    std::uint64_t offset = 0;
    std::uint64_t seed = 0;
    std::uint64_t value = 0;
};

struct Endpoint {
    std::uint32_t qpn = 0;
    std::uint32_t psn = 0;
    std::uint32_t rkey = 0;
    std::uint32_t mtu = 0;
    std::uint64_t iova = 0;
    std::uint64_t bytes = 0;
    std::uint64_t atomics = 0;  ///< 1: this side supports atomics
    ibv_gid gid{};
};

/// A TCP connection. All calls throw std::runtime_error on errors and when the peer has closed it.
class Channel {
  public:
    static Channel listen(std::uint16_t port);
    static Channel connect(const std::string& host, std::uint16_t port);
    ~Channel();
    Channel(Channel&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    Channel& operator=(Channel&&) = delete;

    template <typename T>
    void send(const T& value) {
        send_bytes(&value, sizeof(value));
    }
    template <typename T>
    T receive() {
        T value{};
        receive_bytes(&value, sizeof(value));
        return value;
    }

  private:
    explicit Channel(int fd) : fd_(fd) {}
    void send_bytes(const void* data, std::size_t bytes);
    void receive_bytes(void* data, std::size_t bytes);
    int fd_;
};

struct DeviceOptions {
    std::string device;  ///< empty: the first
    int gid_index = -1;  ///< -1: the first RoCE v2 entry of the wanted family
    bool ipv6 = false;
    int mtu = 0;  ///< bytes; 0: the port's
};

/// An open device with PD, CQ and one RC QP.
class Device {
  public:
    explicit Device(const DeviceOptions& options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    ibv_pd* pd() const { return pd_; }
    ibv_qp* qp() const { return qp_; }
    const char* name() const { return ibv_get_device_name(context_->device); }
    bool has_atomics() const;
    Endpoint endpoint() const;
    /// Moves the QP through INIT and RTR to RTS.
    void connect(const Endpoint& remote);
    /// Waits for one completion; throws with status and vendor error unless it is a success.
    ibv_wc wait() const;

  private:
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    ibv_gid gid_{};
    int gid_index_ = 0;
    ibv_mtu mtu_ = IBV_MTU_1024;
    std::uint32_t psn_ = 0;
};

}  // namespace verbs_check
