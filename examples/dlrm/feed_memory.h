// SPDX-License-Identifier: BSD-2-Clause
//
// The trainer's two buffers, in host memory or on a GPU, and the tensors that view them. Only this
// file depends on the kind of memory, which rdma-bench provides.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "dlrm/dlrm_feed.h"
#include "dlrm/session.h"
#include "memory/buffer.h"

namespace dlrm {

/// Shared by the feed and all tensors: the memory is freed with the last of them.
class FeedMemory {
  public:
    /// @throws rdma_bench::RunError, std::exception of make_buffer()
    FeedMemory(const std::string& device, const std::string& kind, std::uint32_t records);

    [[nodiscard]] const rdma_bench::Device& device() const { return device_; }
    [[nodiscard]] qpx::Region region() const;
    [[nodiscard]] std::uint64_t half(unsigned index) const {
        return buffer_->address() + index * half_bytes_;
    }
    /// Copies the beginning of a half to the host.
    void read(unsigned index, std::span<std::byte> to) const {
        buffer_->read(index * half_bytes_, to);
    }
    /// Waits for work on the GPU that may still read the memory: tensors end when the program drops
    /// them, not when the kernels that use them do. @throws std::exception if that work failed
    void settle() { buffer_->settle(); }
    /// Number of tensors that view a half.
    [[nodiscard]] unsigned views(unsigned index) const { return views_.at(index); }

    static dlpack_managed* view(const std::shared_ptr<FeedMemory>& memory, const dlrm_batch& batch,
                                dlrm_columns columns);

  private:
    rdma_bench::Device device_;
    dlpack_device where_;
    std::uint64_t half_bytes_;
    std::unique_ptr<rdma_bench::Buffer> buffer_;
    std::array<std::atomic<unsigned>, kHalves> views_{};
};

/// Distance of the halves in bytes, whole pages.
std::uint64_t half_bytes(std::uint32_t records);

/// Converts a kind of memory: "host" and similar are on the CPU, "cuda:1" and "hip" on a GPU.
/// @throws std::invalid_argument if tensors are not possible there
dlpack_device dlpack_device_of(const std::string& kind);

}  // namespace dlrm
