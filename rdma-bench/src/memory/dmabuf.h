// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/descriptor.h"

namespace rdma_bench {

/// A DMABuf of at least `bytes` from /dev/udmabuf (over a memfd of its own) or a heap below
/// /dev/dma_heap/. Throws std::runtime_error with the step that failed and what to do.
Descriptor allocate_dmabuf(const std::string& exporter, std::size_t bytes);

/// Brackets of the CPU's access to a mapped DMABuf (linux/dma-buf.h, DMA_BUF_IOCTL_SYNC). An
/// exporter without caches to keep coherent may not have the call: that is no error.
void begin_cpu_access(int dmabuf);
void end_cpu_access(int dmabuf);

}  // namespace rdma_bench
