// SPDX-License-Identifier: BSD-2-Clause
//
// Where the kernel runs, and what memory its buffers are.
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
    /// Zeroed, as long as this lives. Throws std::runtime_error.
    virtual void* alloc(std::size_t bytes) = 0;
    /// Runs the kernel, and brings back what it has written into `transfer`. Throws std::runtime_error.
    virtual void run(Transfer& transfer) = 0;
};

/// "host": a thread of the processor. Throws std::runtime_error for what is not known.
std::unique_ptr<Device> host_device();
/// "cuda": memory of the GPU; "pinned": host memory that the GPU reaches. nullptr: built without nvcc.
std::unique_ptr<Device> cuda_device(bool pinned);

}  // namespace gpu_interchange
