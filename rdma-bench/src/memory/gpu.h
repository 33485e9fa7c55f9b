// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "memory/descriptor.h"

namespace rdma_bench {

/// A GPU whose memory is used for buffers. Its driver's library is loaded by the constructor, so
/// that the program runs without it. Every call throws std::runtime_error with the driver's error
/// text and what to do.
class Gpu {
  public:
    /// A DMABuf and the offset of the requested address in it.
    struct Export {
        Descriptor fd;
        std::uint64_t offset = 0;
    };

    virtual ~Gpu() = default;
    Gpu() = default;
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    /// For example "NVIDIA H200, CUDA 13.0".
    [[nodiscard]] virtual std::string description() const = 0;
    /// Allocates device memory, not cleared.
    virtual std::uint64_t allocate(std::size_t bytes) = 0;
    virtual void release(std::uint64_t address) noexcept = 0;
    /// Synchronous copies between the host and device memory.
    virtual void write(std::uint64_t address, std::span<const std::byte> data) = 0;
    virtual void read(std::uint64_t address, std::span<std::byte> data) = 0;
    /// Exports the range as a DMABuf. `address` need not be page-aligned.
    virtual Export export_dmabuf(std::uint64_t address, std::size_t bytes) = 0;
    /// Waits for all work queued on the device so far, in all streams. Leaves the thread's current
    /// device or context unchanged.
    virtual void synchronize() = 0;
};

/// Opens device `index` through libcuda.so.1 (the driver API).
std::unique_ptr<Gpu> open_cuda(int index);
/// Opens device `index` through libamdhip64.so and libhsa-runtime64.so.1.
std::unique_ptr<Gpu> open_hip(int index);

}  // namespace rdma_bench
