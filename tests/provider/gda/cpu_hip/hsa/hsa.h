// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The HSA names that MORI's host code uses. All calls fail as without a GPU; hip_cpu.cpp
// implements them.
#pragma once

#include <cstddef>
#include <cstdint>

enum hsa_status_t { HSA_STATUS_SUCCESS = 0, HSA_STATUS_INFO_BREAK = 1, HSA_STATUS_ERROR = 0x1000 };
enum hsa_device_type_t { HSA_DEVICE_TYPE_CPU = 0, HSA_DEVICE_TYPE_GPU = 1 };
enum hsa_agent_info_t { HSA_AGENT_INFO_DEVICE = 17 };
struct hsa_agent_t {
    std::uint64_t handle;
};

extern "C" {
hsa_status_t hsa_init();
hsa_status_t hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t what, void* value);
hsa_status_t hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t agent, void* data),
                                void* data);
}
