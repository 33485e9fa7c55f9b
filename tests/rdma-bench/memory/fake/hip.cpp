// SPDX-License-Identifier: BSD-2-Clause
// A fake libamdhip64.so. The environment variable FAKE_HIP selects a fault: "no-gpu", "full" (out
// of memory), "sync-fails"; for the faults of the export see hsa.cpp.
#include <cstdlib>

#include "memory.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
/// The export covers the whole allocation; the address is pages and bytes past its start.
constexpr std::uint64_t kLead = 3 * fake::kPage + 512;

bool mode(const char* wanted) {
    const char* value = std::getenv("FAKE_HIP");
    return value != nullptr && std::strcmp(value, wanted) == 0;
}

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace

extern "C" {

int hipGetDeviceCount(int* count) {
    *count = mode("no-gpu") ? 0 : 1;
    return mode("no-gpu") ? kNoDevice : kSuccess;
}
int hipGetDevice(int* index) {
    *index = 0;
    return kSuccess;
}
int hipSetDevice(int index) {
    return index == 0 ? kSuccess : kInvalidValue;
}
int hipDeviceGetName(char* name, int length, int /*device*/) {
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
    return kSuccess;
}
int hipDriverGetVersion(int* version) {
    *version = 60241133;
    return kSuccess;
}
const char* hipGetErrorName(int error) {
    return error == kNoDevice ? "hipErrorNoDevice" : "hipErrorInvalidValue";
}
int hipMalloc(void** address, std::size_t bytes) {
    const std::uint64_t at = mode("full") ? 0 : fake::memory().allocate(bytes, kLead);
    *address = reinterpret_cast<void*>(at);
    return at == 0 ? kOutOfMemory : kSuccess;
}
int hipFree(void* address) {
    return fake::memory().release(number(address)) ? kSuccess : kInvalidValue;
}
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
    const std::byte* source = static_cast<const std::byte*>(from);
    std::byte* target = static_cast<std::byte*>(to);
    if (kind == 1) {
        target = fake::memory().host(number(to), bytes);
    } else if (kind == 2) {
        source = fake::memory().host(number(from), bytes);
    }
    if (source == nullptr || target == nullptr || (kind != 1 && kind != 2)) {
        return kInvalidValue;
    }
    std::memcpy(target, source, bytes);
    return kSuccess;
}
int hipDeviceSynchronize() {
    return mode("sync-fails") ? kInvalidValue : kSuccess;
}

}  // extern "C"
