// SPDX-License-Identifier: BSD-2-Clause
#include "cuda.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace gpu_test {
namespace {

void* library = nullptr;
int device = 0;

// CUmemAllocationProp, CUmemAccessDesc.
struct Location {
    int type = 1;  // device
    int id = 0;
};
struct Properties {
    int type = 1;     // pinned
    int handles = 1;  // POSIX descriptor
    Location location;
    void* windows = nullptr;
    unsigned char flags[8] = {};
};
struct Access {
    Location location;
    int flags = 3;  // read and write
};

template <typename... Args>
int call(const char* name, Args... args) {
    auto* function = reinterpret_cast<int (*)(Args...)>(::dlsym(library, name));
    if (function == nullptr) {
        throw std::runtime_error(std::string(name) + " is missing in libcuda.so.1");
    }
    return function(args...);
}

template <typename... Args>
void must(const char* name, Args... args) {
    const int result = call(name, args...);
    if (result != 0) {
        throw std::runtime_error(std::string(name) + ": error " + std::to_string(result));
    }
}

}  // namespace

void start_cuda() {
    library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr || call("cuInit", 0U) != 0 || call("cuDeviceGet", &device, 0) != 0) {
        throw NoGpu{};
    }
    void* context = nullptr;
    must("cuDevicePrimaryCtxRetain", &context, device);
    must("cuCtxSetCurrent", context);
}

std::uint64_t allocate(std::size_t bytes) {
    unsigned long long address = 0;
    must("cuMemAlloc_v2", &address, bytes);
    return address;
}

std::uint64_t allocate_vmm(std::size_t bytes, std::size_t pieces) {
    constexpr std::size_t kGranularity = 2U << 20U;
    bytes = (bytes + kGranularity - 1) / kGranularity * kGranularity;
    const Properties properties;
    const Access access;
    unsigned long long address = 0;
    must("cuMemAddressReserve", &address, bytes * pieces, std::size_t{0}, 0ULL, 0ULL);
    for (std::size_t i = 0; i < pieces; ++i) {
        unsigned long long handle = 0;
        must("cuMemCreate", &handle, bytes, &properties, 0ULL);
        must("cuMemMap", address + i * bytes, bytes, std::size_t{0}, handle, 0ULL);
        must("cuMemRelease", handle);
    }
    must("cuMemSetAccess", address, bytes * pieces, &access, std::size_t{1});
    return address;
}

std::uint64_t allocate_async(std::size_t bytes) {
    void* stream = nullptr;
    unsigned long long address = 0;
    must("cuStreamCreate", &stream, 1U);
    must("cuMemAllocAsync", &address, bytes, stream);
    must("cuStreamSynchronize", stream);
    return address;
}

void release(std::uint64_t address) {
    must("cuMemFree_v2", static_cast<unsigned long long>(address));
}

void end_context() {
    must("cuDevicePrimaryCtxReset_v2", device);
}

void put(std::uint64_t address, const std::vector<std::uint8_t>& data) {
    must("cuMemcpyHtoD_v2", static_cast<unsigned long long>(address),
         static_cast<const void*>(data.data()), data.size());
    // Small copies are still in flight when the call returns; another process could overtake them.
    must("cuCtxSynchronize");
}

std::vector<std::uint8_t> get(std::uint64_t address, std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    must("cuMemcpyDtoH_v2", static_cast<void*>(data.data()),
         static_cast<unsigned long long>(address), bytes);
    return data;
}

int export_dmabuf(std::uint64_t address, std::size_t bytes, std::uint64_t& offset) {
    constexpr std::uint64_t kPage = 4096;
    const unsigned long long start = address / kPage * kPage;
    const std::size_t length = (address + bytes + kPage - 1) / kPage * kPage - start;
    int fd = -1;
    must("cuMemGetHandleForAddressRange", static_cast<void*>(&fd), start, length, 1, 0ULL);
    offset = address - start;
    return fd;
}

}  // namespace gpu_test
