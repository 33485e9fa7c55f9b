// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

namespace gpu_test {

/// Two connected QPs of the first device.
class Loopback {
  public:
    Loopback();
    ~Loopback();
    Loopback(const Loopback&) = delete;
    Loopback& operator=(const Loopback&) = delete;

    [[nodiscard]] ibv_pd* pd() const { return pd_; }

    struct Place {
        std::uint64_t address;
        std::uint32_t key;
    };
    void post(ibv_wr_opcode opcode, Place local, Place remote, std::uint32_t bytes,
              std::uint64_t add = 0);
    /// Waits for the next completion; returns its status, or nothing after 20 s.
    std::optional<ibv_wc_status> wait();
    /// One after the other.
    std::optional<ibv_wc_status> run(ibv_wr_opcode opcode, Place local, Place remote,
                                     std::uint32_t bytes, std::uint64_t add = 0) {
        post(opcode, local, remote, bytes, add);
        return wait();
    }

  private:
    ibv_qp* make_qp();
    void connect(ibv_qp* qp, const ibv_qp* to);

    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    ibv_qp* peer_ = nullptr;
};

}  // namespace gpu_test
