// SPDX-License-Identifier: BSD-2-Clause
#include "memory/kinds.h"

#include <array>

namespace rdma_bench {

std::span<const MemoryKind> memory_kind_table() {
    static constexpr std::array kKinds{
        MemoryKind{"host", "", "ordinary memory of this process", &make_host_buffer},
    };
    return kKinds;
}

}  // namespace rdma_bench
