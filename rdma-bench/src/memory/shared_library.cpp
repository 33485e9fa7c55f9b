// SPDX-License-Identifier: BSD-2-Clause
#include "memory/shared_library.h"

#include <dlfcn.h>

#include <stdexcept>

namespace rdma_bench {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) {
            name_ = name;
            return;
        }
        if (const char* why = ::dlerror(); why != nullptr && error_.empty()) {
            error_ = why;
        }
    }
}

void* SharedLibrary::address(const char* symbol) const {
    return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
}

void* SharedLibrary::needed_address(const char* symbol) const {
    void* found = address(symbol);
    if (found == nullptr) {
        throw std::runtime_error(name_ + " has no " + symbol +
                                 ": the GPU driver is too old for this program");
    }
    return found;
}

}  // namespace rdma_bench
