// SPDX-License-Identifier: BSD-2-Clause
//
// Moves host memory to the card, through a compute kernel, and back, by a queue pair connected to
// itself.
#pragma once

#include <infiniband/dingodv.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../verbs.h"
#include "memory/gpu.h"

namespace local_transfer {

using examples::Context;
using examples::Deleter;

/// Opens the device of this name; "": the first Dingo card. Throws std::runtime_error.
Context open_device(const std::string& name);

/// Returns the card's compute kernels. Throws std::runtime_error if it has no compute slot.
std::vector<dingodv_kernel> kernels_of(ibv_context* context);

class Transfer {
  public:
    static constexpr unsigned kDepth = 32;  ///< outstanding transfers

    /// Creates buffers of `bytes` each, on `gpu` if given. `receive`: applies the kernel to
    /// received data, not to sent data. All calls throw std::runtime_error with the step that
    /// failed.
    Transfer(ibv_context* context, std::uint32_t kernel, std::uint32_t param, bool receive,
             std::size_t bytes, std::unique_ptr<rdma_bench::Gpu> gpu = nullptr);
    ~Transfer();
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    std::span<std::byte> source() { return source_; }
    std::span<std::byte> target() { return target_; }
    /// Copies source() and target() to the GPU, and target() back from there.
    void put(std::size_t bytes);
    void fetch(std::size_t bytes);
    /// Moves `bytes` from source to target `times` times (up to kDepth) and waits for all.
    void run(std::size_t bytes, unsigned times);

  private:
    void connect(ibv_context* context);

    std::unique_ptr<rdma_bench::Gpu> gpu_;
    std::uint64_t source_at_ = 0, target_at_ = 0;  ///< addresses used by the card
    std::vector<std::byte> source_, target_;
    std::unique_ptr<ibv_pd, Deleter<ibv_dealloc_pd>> pd_;
    std::unique_ptr<ibv_cq, Deleter<ibv_destroy_cq>> cq_;
    std::unique_ptr<ibv_mr, Deleter<ibv_dereg_mr>> source_mr_, target_mr_;
    std::unique_ptr<ibv_qp, Deleter<ibv_destroy_qp>> qp_;
};

}  // namespace local_transfer
