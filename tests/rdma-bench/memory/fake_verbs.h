// SPDX-License-Identifier: BSD-2-Clause
// A fake RDMA device that only registers memory and records the arguments.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake_verbs {

struct Registration {
    bool dmabuf = false;
    std::uint64_t offset = 0;  ///< in the DMABuf
    std::uint64_t length = 0;
    std::uint64_t iova = 0;
    unsigned access = 0;
    void* map = nullptr;  ///< mapping of the device's view, in which `length` bytes begin at `data`
    std::byte* data = nullptr;
    std::size_t mapped = 0;
};

/// Returns a PD of the fake device, which has `device_memory` bytes of device memory.
ibv_pd* pd(std::size_t device_memory = 0);
/// Sets the errno of the next ibv_reg_dmabuf_mr; 0: it succeeds.
void fail_next_dmabuf(int error);
const Registration& registration(const ibv_mr* mr);
std::size_t live_registrations();
std::size_t live_device_memory();

}  // namespace fake_verbs
