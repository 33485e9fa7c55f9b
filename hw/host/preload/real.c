/* SPDX-License-Identifier: BSD-2-Clause */
#include "real.h"

#include <dlfcn.h>

static _Thread_local int looking_up __attribute__((tls_model("initial-exec")));

void* dingo_real_lookup(void* _Atomic* slot, const char* name) {
    void* function;

    if (looking_up) {
        return NULL;
    }
    looking_up = 1;
    function = dlsym(RTLD_NEXT, name);
    looking_up = 0;
    __atomic_store_n((void**)slot, function, __ATOMIC_RELAXED);
    return function;
}
