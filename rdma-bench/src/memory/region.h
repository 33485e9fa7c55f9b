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

/// Throws std::out_of_range unless `length` bytes at `offset` lie in `size`.
void check_range(std::size_t size, std::size_t offset, std::size_t length);

/// ibv_reg_mr of memory of this process. @param what for the message, e.g. "huge pages"
ibv_mr* register_memory(const BufferRequest& request, void* memory, const std::string& what);

/// ibv_reg_dmabuf_mr of request.size bytes at `offset` of the DMABuf; work requests name them by
/// `iova`. Throws std::runtime_error that tells whether the library, the kernel, the device or the
/// exporter is likely to be in the way; there is no other way that is tried instead.
ibv_mr* register_dmabuf(const BufferRequest& request, const Descriptor& dmabuf,
                        std::uint64_t offset, std::uint64_t iova, const std::string& kind);

/// The number behind a colon, 0 for none. @throws std::invalid_argument
int device_index(std::string_view argument, const std::string& kind);

}  // namespace rdma_bench
