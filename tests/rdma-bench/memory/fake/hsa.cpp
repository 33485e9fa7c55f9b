// SPDX-License-Identifier: BSD-2-Clause
// A fake libhsa-runtime64.so.1 that exports memory allocated by the fake libamdhip64.so. The
// environment variable FAKE_HIP selects a fault: "no-dmabuf", "export-fails".
#include <cstdlib>

#include "memory.h"

namespace {

constexpr int kSuccess = 0;
constexpr int kHsaError = 0x1000;

bool mode(const char* wanted) {
    const char* value = std::getenv("FAKE_HIP");
    return value != nullptr && std::strcmp(value, wanted) == 0;
}

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace

extern "C" {

int hsa_system_get_info(int attribute, void* value) {
    if (attribute != 0x204) {
        return kHsaError;
    }
    *static_cast<bool*>(value) = !mode("no-dmabuf");
    return kSuccess;
}
int hsa_amd_portable_export_dmabuf(const void* address, std::size_t bytes, int* fd,
                                   std::uint64_t* offset) {
    *fd = mode("export-fails") ? -1 : fake::memory().export_range(number(address), bytes, offset);
    return *fd < 0 ? kHsaError : kSuccess;
}

}  // extern "C"
