// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory/descriptor.h"

namespace rdma_bench {

/// Allocates a DMABuf of at least `bytes` from /dev/udmabuf (over a new memfd) or a heap below
/// /dev/dma_heap/. @throws std::runtime_error with the step that failed and what to do
Descriptor allocate_dmabuf(const std::string& exporter, std::size_t bytes);

/// Begin and end CPU access to a mapped DMABuf (linux/dma-buf.h, DMA_BUF_IOCTL_SYNC). Exporters
/// whose memory is coherent may lack the call, which is not an error.
void begin_cpu_access(int dmabuf);
void end_cpu_access(int dmabuf);

}  // namespace rdma_bench
