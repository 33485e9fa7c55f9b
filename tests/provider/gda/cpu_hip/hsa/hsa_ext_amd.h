// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// As hsa.h.
#pragma once

#include "hsa/hsa.h"

struct hsa_amd_memory_pool_t {
    std::uint64_t handle;
};
enum hsa_amd_memory_pool_info_t { HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS = 1 };
enum hsa_amd_memory_pool_global_flag_t {
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT = 1,
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED = 2,
};

extern "C" {
hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent,
                                                hsa_status_t (*callback)(hsa_amd_memory_pool_t pool,
                                                                         void* data),
                                                void* data);
hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool,
                                          hsa_amd_memory_pool_info_t what, void* value);
hsa_status_t hsa_amd_memory_lock_to_pool(void* at, std::size_t bytes, hsa_agent_t* agents,
                                         int count, hsa_amd_memory_pool_t pool, std::uint32_t flags,
                                         void** device);
hsa_status_t hsa_amd_portable_export_dmabuf(const void* at, std::size_t bytes, int* descriptor,
                                            std::uint64_t* offset);
}
