// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>

#include "memory/buffer.h"
#include "memory/descriptor.h"

namespace rdma_bench {

struct MrDeleter {
    void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
};
using Mr = std::unique_ptr<ibv_mr, MrDeleter>;

/// @throws std::out_of_range unless `length` bytes at `offset` are within `size`
void check_range(std::size_t size, std::size_t offset, std::size_t length);

/// Registers memory of this process by ibv_reg_mr(). @param what for the error text, e.g. "huge
/// pages"
ibv_mr* register_memory(const BufferRequest& request, void* memory, const std::string& what);

/// Registers request.size bytes at `offset` of the DMABuf by ibv_reg_dmabuf_mr(); work requests
/// address them by `iova`. There is no fallback. @throws std::runtime_error that says whether the
/// library, the kernel, the device or the exporter is the likely cause
ibv_mr* register_dmabuf(const BufferRequest& request, const Descriptor& dmabuf,
                        std::uint64_t offset, std::uint64_t iova, const std::string& kind);

/// Parses the number after a colon, 0 if empty. @throws std::invalid_argument
int device_index(std::string_view argument, const std::string& kind);

}  // namespace rdma_bench
