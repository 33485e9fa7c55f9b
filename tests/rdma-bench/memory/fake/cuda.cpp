// SPDX-License-Identifier: BSD-2-Clause
// A fake libcuda.so.1 with the calls that buffers use. The environment variable FAKE_CUDA selects a
// fault: "no-gpu", "no-dmabuf", "full" (out of memory), "export-fails", "sync-fails".
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "memory.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kInvalidContext = 201;
constexpr int kNotSupported = 801;
constexpr int kDmaBufSupported = 124;
/// Offset in the memfd: cuMemAlloc guarantees an alignment of 256 bytes only, not of a page.
constexpr std::uint64_t kLead = 512;

/// Contexts of this thread, the current one last; a null pointer is none.
thread_local std::vector<void*> contexts;
int the_context = 0;

bool mode(const char* wanted) {
    const char* value = std::getenv("FAKE_CUDA");
    return value != nullptr && std::strcmp(value, wanted) == 0;
}

bool has_context() {
    return !contexts.empty() && contexts.back() != nullptr;
}

}  // namespace

/// Used by cuda_share.cpp.
bool fake_has_context();
bool fake_has_context() {
    return has_context();
}
void* fake_context();
void* fake_context() {
    return &the_context;
}

/// Defined in cuda_share.cpp.
int fake_copy_in(std::uint64_t to, const void* from, std::size_t bytes);
int fake_copy_out(void* to, std::uint64_t from, std::size_t bytes);
bool fake_is_mapped(std::uint64_t address, std::size_t bytes);

extern "C" {

int cuInit(unsigned flags) {
    return flags != 0 ? kInvalidValue : mode("no-gpu") ? kNoDevice : kSuccess;
}
int cuDriverGetVersion(int* version) {
    *version = 12040;
    return kSuccess;
}
int cuGetErrorName(int error, const char** name) {
    *name = error == kNoDevice       ? "CUDA_ERROR_NO_DEVICE"
            : error == kOutOfMemory  ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == kNotSupported ? "CUDA_ERROR_NOT_SUPPORTED"
            : error == 700           ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                     : "CUDA_ERROR_INVALID_VALUE";
    return kSuccess;
}
int cuGetErrorString(int /*error*/, const char** text) {
    *text = "the fake driver says so";
    return kSuccess;
}
int cuDeviceGetCount(int* count) {
    *count = 2;
    return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return kSuccess;
}
int cuDeviceGetName(char* name, int length, int /*device*/) {
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
    return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
    *value = attribute == kDmaBufSupported && !mode("no-dmabuf") ? 1 : 0;
    return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
    *context = &the_context;
    return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int /*device*/) {
    return kSuccess;
}
int cuCtxSetCurrent(void* context) {
    if (context != nullptr && context != &the_context) {
        return kInvalidContext;
    }
    contexts.resize(std::max<std::size_t>(contexts.size(), 1));
    contexts.back() = context;
    return kSuccess;
}
int cuCtxGetCurrent(void** context) {
    *context = has_context() ? contexts.back() : nullptr;
    return kSuccess;
}
int cuCtxGetDevice(int* device) {
    *device = 0;
    return has_context() ? kSuccess : kInvalidContext;
}
int cuCtxPushCurrent_v2(void* context) {
    if (context != &the_context) {
        return kInvalidContext;
    }
    contexts.push_back(context);
    return kSuccess;
}
int cuCtxPopCurrent_v2(void** context) {
    if (!has_context()) {
        return kInvalidContext;
    }
    *context = contexts.back();
    contexts.pop_back();
    return kSuccess;
}
int cuCtxSynchronize() {
    return !has_context() ? kInvalidContext : mode("sync-fails") ? kInvalidValue : kSuccess;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
    if (!has_context()) {
        return kInvalidContext;
    }
    *address = mode("full") ? 0 : fake::memory().allocate(bytes, kLead);
    return *address == 0 ? kOutOfMemory : kSuccess;
}
int cuMemFree_v2(unsigned long long address) {
    return has_context() && fake::memory().release(address) ? kSuccess : kInvalidValue;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
    return has_context() && fake_copy_in(to, from, bytes) == kSuccess ? kSuccess : kInvalidValue;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
    return has_context() && fake_copy_out(to, from, bytes) == kSuccess ? kSuccess : kInvalidValue;
}
int cuPointerSetAttribute(const void* /*value*/, int /*attribute*/,
                          unsigned long long /*address*/) {
    return kSuccess;
}
int cuMemGetHandleForAddressRange(void* handle, unsigned long long address, std::size_t bytes,
                                  int type, unsigned long long flags) {
    if (!has_context() || type != 1 || flags != 0 || address % fake::kPage != 0 ||
        bytes % fake::kPage != 0) {
        return kInvalidValue;
    }
    if (mode("export-fails")) {
        return kNotSupported;
    }
    std::uint64_t offset = 0;
    // For a mapped range of several allocations the descriptor has the right size but not the data:
    // importers of CUDA memory query its size.
    const int fd = fake_is_mapped(address, bytes)
                       ? fake::Memory::create(bytes)
                       : fake::memory().export_range(address, bytes, &offset);
    // The DMABuf must begin with the first byte of the range.
    if (fd < 0 || offset != 0) {
        return kInvalidValue;
    }
    *static_cast<int*>(handle) = fd;
    return kSuccess;
}

}  // extern "C"
