/* SPDX-License-Identifier: BSD-2-Clause */
#include "pins.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#define PAGE 4096ULL
#define PROBE_EVERY 64ULL /* bytes between the addresses of a page that are asked for */

/* The parts of the GPU drivers' interfaces used here. The application loads the drivers, this
 * library never does. */

/* CUresult, CUpointer_attribute */
#define CU_SUCCESS 0
#define CU_POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define CU_POINTER_ATTRIBUTE_RANGE_START_ADDR 11
#define CU_POINTER_ATTRIBUTE_RANGE_SIZE 12
typedef int cu_attribute_fn(void* data, int attribute, uint64_t pointer);
/* Sets 0 for unknown pointers, where the single-attribute call fails. */
typedef int cu_attributes_fn(unsigned count, int* attributes, void** data, uint64_t pointer);

/* hsa_amd_pointer_info_t, the layer below HIP. The HIP function would start the runtime. */
#define HSA_SUCCESS 0
struct hsa_info {
    uint32_t size;
    uint32_t type; /* 0: memory unknown to HSA */
    void* agent_base;
    void* host_base;
    size_t bytes;
    void* user_data;
    uint64_t owner;
    uint32_t flags;
    uint8_t registered;
    uint8_t later_versions[64];
};
typedef int hsa_info_fn(const void* pointer, struct hsa_info* info, void* (*allocate)(size_t),
                        uint32_t* num_agents, void** agents);

static cu_attribute_fn* cu_attribute;
static cu_attributes_fn* cu_attributes;
static hsa_info_fn* hsa_info;

/* Finds a function of a library that is loaded. The library stays loaded from then on, as the
 * pointer is kept. */
static void* find(const char* library, const char* name) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);

    return handle ? dlsym(handle, name) : NULL;
}

static int count_loads(struct dl_phdr_info* info, size_t size, void* count) {
    (void)size;
    *(unsigned long long*)count = info->dlpi_adds;
    return 1;
}

static bool is_known(void) {
    return __atomic_load_n(&cu_attribute, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&hsa_info, __ATOMIC_ACQUIRE);
}

bool dingo_pins_possible(void) {
    static _Atomic unsigned long long looked_at;
    unsigned long long loads = 0;

    /* searching for a library that is not loaded reads directories, so it is done only after new
     * loads */
    (void)dl_iterate_phdr(count_loads, &loads);
    if (loads == looked_at) {
        return is_known();
    }
    if (!__atomic_load_n(&cu_attribute, __ATOMIC_ACQUIRE)) {
        void* one = find("libcuda.so.1", "cuPointerGetAttribute");

        if (one) {
            cu_attributes = (cu_attributes_fn*)find("libcuda.so.1", "cuPointerGetAttributes");
            __atomic_store_n((void**)&cu_attribute, one, __ATOMIC_RELEASE);
        }
    }
    if (!__atomic_load_n(&hsa_info, __ATOMIC_ACQUIRE)) {
        void* info = find("libhsa-runtime64.so.1", "hsa_amd_pointer_info");

        if (info) {
            __atomic_store_n((void**)&hsa_info, info, __ATOMIC_RELEASE);
        }
    }
    /* only here: a search waits for a library that is being loaded, and so must other threads */
    looked_at = loads;
    return is_known();
}

/* Returns the end of the driver's range if it contains `pointer`, else `pointer + 1`. */
static uint64_t range_end(uint64_t pointer, uint64_t start, uint64_t bytes) {
    return start <= pointer && start + bytes > pointer ? start + bytes : pointer + 1;
}

static uint64_t cuda_end(uint64_t pointer) {
    uint32_t type = 0;
    uint64_t start = 0;
    uint64_t bytes = 0;

    if (cu_attributes) {
        int wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
        void* data[] = {&type, &start, &bytes};

        if (cu_attributes(3, wanted, data, pointer) == CU_SUCCESS) {
            return type ? range_end(pointer, start, bytes) : 0;
        }
    }
    /* the driver is too old to know ranges, or CUDA is not initialized */
    type = 0;
    return cu_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) == CU_SUCCESS && type
               ? pointer + 1
               : 0;
}

static uint64_t hsa_end(uint64_t pointer) {
    struct hsa_info info;

    memset(&info, 0, sizeof(info));
    info.size = sizeof(info);
    if (hsa_info((const void*)(uintptr_t)pointer, &info, NULL, NULL, NULL) != HSA_SUCCESS ||
        info.type == 0) {
        return 0;
    }
    return range_end(pointer, (uintptr_t)info.host_base, info.bytes);
}

/* Returns the end of the range that contains `pointer`, 0 if there is none. */
static uint64_t pinned_end(uint64_t pointer) {
    uint64_t end = cu_attribute ? cuda_end(pointer) : 0;

    return !end && hsa_info ? hsa_end(pointer) : end;
}

uint64_t dingo_pins_end(uint64_t at, bool closely) {
    uint64_t end = pinned_end(at);

    /* the range may begin inside the page */
    if (!end) {
        end = pinned_end(at + PAGE - 1);
    }
    for (uint64_t inside = PROBE_EVERY; closely && !end && inside < PAGE; inside += PROBE_EVERY) {
        end = pinned_end(at + inside);
    }
    return end ? (end + PAGE - 1) & ~(PAGE - 1) : at;
}
