// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "memory/descriptor.h"

namespace rdma_bench {

/// A GPU as a place for buffers. Its driver's library is loaded when the object is made, so that
/// the program runs without it. Every call throws std::runtime_error with the driver's own words
/// and what to do.
class Gpu {
  public:
    /// A DMABuf and where in it the wanted address lies.
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
    /// Device memory, not cleared.
    virtual std::uint64_t allocate(std::size_t bytes) = 0;
    virtual void release(std::uint64_t address) noexcept = 0;
    /// Synchronous copies between the host and device memory.
    virtual void write(std::uint64_t address, std::span<const std::byte> data) = 0;
    virtual void read(std::uint64_t address, std::span<std::byte> data) = 0;
    /// The range as a DMABuf. `address` need not be page-aligned.
    virtual Export export_dmabuf(std::uint64_t address, std::size_t bytes) = 0;
};

/// Device `index` through libcuda.so.1 (the driver API).
std::unique_ptr<Gpu> open_cuda(int index);
/// Device `index` through libamdhip64.so and libhsa-runtime64.so.1.
std::unique_ptr<Gpu> open_hip(int index);

}  // namespace rdma_bench
