// SPDX-License-Identifier: BSD-2-Clause
//
// verbs_dlopen: finds libibverbs at run time, lists the devices and opens each.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cstdio>

namespace {

template <typename Fn>
Fn* symbol(void* library, const char* name) {
    return reinterpret_cast<Fn*>(::dlsym(library, name));
}

}  // namespace

int main() {
    void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    auto* get = symbol<ibv_device**(int*)>(library, "ibv_get_device_list");
    auto* name = symbol<const char*(ibv_device*)>(library, "ibv_get_device_name");
    auto* open = symbol<ibv_context*(ibv_device*)>(library, "ibv_open_device");
    auto* close = symbol<int(ibv_context*)>(library, "ibv_close_device");
    auto* free_list = symbol<void(ibv_device**)>(library, "ibv_free_device_list");
    if (!get || !name || !open || !close || !free_list)
        return 1;
    int n = 0;
    ibv_device** list = get(&n);
    for (int i = 0; i < n; ++i) {
        ibv_context* context = open(list[i]);
        std::printf("%s: %s\n", name(list[i]), context != nullptr ? "opened" : "cannot be opened");
        if (context == nullptr || close(context) != 0)
            return 1;
    }
    free_list(list);
    return n > 0 ? 0 : 1;
}
