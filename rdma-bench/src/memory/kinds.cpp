// SPDX-License-Identifier: BSD-2-Clause
#include "memory/kinds.h"

#include <array>

namespace rdma_bench {

std::span<const MemoryKind> memory_kind_table() {
    static constexpr std::array kKinds{
        MemoryKind{"host", "", "ordinary memory of this process", &make_host_buffer},
        MemoryKind{
            "huge", "",
            "huge pages of the default size; some must be set aside (sysctl vm.nr_hugepages)",
            &make_huge_buffer},
        MemoryKind{"hip", "[:n]", "AMD GPU n as a DMABuf: libamdhip64.so, ROCm 5.6, Linux 6.2",
                   &make_hip_buffer},
        MemoryKind{"cuda", "[:n]",
                   "NVIDIA GPU n as a DMABuf: libcuda.so.1 of 11.7, open kernel modules",
                   &make_cuda_buffer},
        MemoryKind{"dmabuf", ":PATH[,offset=BYTES]",
                   "a DMABuf of /dev/udmabuf or /dev/dma_heap/NAME", &make_dmabuf_buffer},
        MemoryKind{"dm", "", "memory of the RDMA device itself (ibv_alloc_dm)",
                   &make_device_buffer},
    };
    return kKinds;
}

}  // namespace rdma_bench
