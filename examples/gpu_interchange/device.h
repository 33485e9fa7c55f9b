// SPDX-License-Identifier: BSD-2-Clause
//
// Device on which the kernel runs, and the memory of its buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "dingo_gda_host.h"

namespace gpu_interchange {

struct Transfer;

class Device {
  public:
    virtual ~Device() = default;
    [[nodiscard]] virtual dingo_gda_kind kind() const = 0;
    /// Allocates zeroed memory, freed by the destructor. Throws on failure.
    virtual void* alloc(std::size_t bytes) = 0;
    /// Runs the kernel and copies its results back to `transfer`. Throws std::runtime_error.
    virtual void run(Transfer& transfer) = 0;
};

/// "host": a thread of the CPU.
std::unique_ptr<Device> host_device();
/// "cuda": GPU memory; "pinned": host memory mapped for the GPU. Returns nullptr if built without
/// nvcc.
std::unique_ptr<Device> cuda_device(bool pinned);

}  // namespace gpu_interchange
