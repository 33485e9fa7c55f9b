// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Stands for libamdhip64.so and HSA's library: the processor is the GPU. FAKE_HIP has the name of a
// call that is refused.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "hip/hip_runtime_api.h"
#include "hsa/hsa_ext_amd.h"

namespace {

constexpr std::size_t kPage = 4096;

std::mutex mutex;
std::map<void*, std::size_t> pages;      // registered, by where they begin
std::map<void*, std::size_t> allocated;  // memory of the device

/// Executed when its stream is waited for.
struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
};

bool refused(const char* call) {
    const char* const name = std::getenv("FAKE_HIP");
    return name != nullptr && std::strcmp(name, call) == 0;
}

}  // namespace

extern "C" {

// What is still registered, and allocated: for tests.
int fake_hip_registered() {
    const std::lock_guard lock(mutex);
    return static_cast<int>(pages.size());
}
int fake_hip_allocated() {
    const std::lock_guard lock(mutex);
    return static_cast<int>(allocated.size());
}

hipError_t hipInit(unsigned flags) {
    return flags != 0 || refused("hipInit") ? hipErrorInvalidValue : hipSuccess;
}
hipError_t hipGetDevice(int* ordinal) {
    *ordinal = 0;
    return hipSuccess;
}
hipError_t hipSetDevice(int ordinal) {
    return ordinal != 0 ? hipErrorInvalidValue : hipSuccess;
}
hipError_t hipMalloc(void** at, std::size_t bytes) {
    if (refused("hipMalloc"))
        return hipErrorNotSupported;
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const got =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED)
        return hipErrorInvalidValue;
    const std::lock_guard lock(mutex);
    allocated.emplace(got, whole);
    *at = got;
    return hipSuccess;
}
hipError_t hipExtMallocWithFlags(void** at, std::size_t bytes, unsigned /*flags*/) {
    return hipMalloc(at, bytes);
}
hipError_t hipFree(void* at) {
    const std::lock_guard lock(mutex);
    const auto found = allocated.find(at);
    if (found == allocated.end())
        return at == nullptr ? hipSuccess : hipErrorInvalidValue;
    ::munmap(at, found->second);
    allocated.erase(found);
    return hipSuccess;
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind /*kind*/) {
    if (refused("hipMemcpy"))
        return hipErrorInvalidValue;
    std::memcpy(to, from, bytes);
    return hipSuccess;
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind /*kind*/,
                          hipStream_t stream) {
    if (refused("hipMemcpyAsync"))
        return hipErrorInvalidValue;
    static_cast<std::vector<Copy>*>(stream)->push_back({to, from, bytes});
    return hipSuccess;
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
    *stream = new std::vector<Copy>;
    return flags == hipStreamNonBlocking ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
    for (const Copy& copy : *static_cast<std::vector<Copy>*>(stream))
        std::memcpy(copy.to, copy.from, copy.bytes);
    return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
    delete static_cast<std::vector<Copy>*>(stream);
    return hipSuccess;
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
    static thread_local hipStreamCaptureMode current = hipStreamCaptureModeGlobal;
    std::swap(current, *mode);
    return hipSuccess;
}
hipError_t hipMemset(void* at, int value, std::size_t bytes) {
    std::memset(at, value, bytes);
    return hipSuccess;
}
hipError_t hipHostRegister(void* at, std::size_t bytes, unsigned flags) {
    if (refused("hipHostRegister") || flags != (hipHostRegisterPortable | hipHostRegisterMapped) ||
        reinterpret_cast<std::uintptr_t>(at) % kPage != 0 || bytes % kPage != 0)
        return hipErrorInvalidValue;
    const std::lock_guard lock(mutex);
    return pages.emplace(at, bytes).second ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipHostUnregister(void* at) {
    const std::lock_guard lock(mutex);
    return pages.erase(at) != 0 ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipHostGetDevicePointer(void** device, void* at, unsigned /*flags*/) {
    if (refused("hipHostGetDevicePointer"))
        return hipErrorNotSupported;
    const std::lock_guard lock(mutex);
    *device = at;
    return pages.count(at) != 0 ? hipSuccess : hipErrorInvalidValue;
}
hipError_t hipMemGetHandleForAddressRange(void*, hipDeviceptr_t, std::size_t, hipMemRangeHandleType,
                                          unsigned long long) {
    return hipErrorNotSupported;
}
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* /*at*/) {
    *out = {hipMemoryTypeDevice, nullptr};
    return hipSuccess;
}
hipError_t hipDeviceSynchronize() {
    return hipSuccess;
}
hipError_t hipGetLastError() {
    return hipSuccess;
}
const char* hipGetErrorName(hipError_t error) {
    return error == hipSuccess             ? "hipSuccess"
           : error == hipErrorNotSupported ? "hipErrorNotSupported"
                                           : "hipErrorInvalidValue";
}
const char* hipGetErrorString(hipError_t error) {
    return hipGetErrorName(error);
}

hsa_status_t hsa_init() {
    return HSA_STATUS_ERROR;
}
hsa_status_t hsa_agent_get_info(hsa_agent_t, hsa_agent_info_t, void*) {
    return HSA_STATUS_ERROR;
}
hsa_status_t hsa_iterate_agents(hsa_status_t (*)(hsa_agent_t, void*), void*) {
    return HSA_STATUS_ERROR;
}
hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t,
                                                hsa_status_t (*)(hsa_amd_memory_pool_t, void*),
                                                void*) {
    return HSA_STATUS_ERROR;
}
hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t, hsa_amd_memory_pool_info_t,
                                          void*) {
    return HSA_STATUS_ERROR;
}
hsa_status_t hsa_amd_memory_lock_to_pool(void*, std::size_t, hsa_agent_t*, int,
                                         hsa_amd_memory_pool_t, std::uint32_t, void**) {
    return HSA_STATUS_ERROR;
}
hsa_status_t hsa_amd_portable_export_dmabuf(const void*, std::size_t, int*, std::uint64_t*) {
    return HSA_STATUS_ERROR;
}
}
