/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks up the functions that this library intercepts: libc's, or those of another library that was
 * preloaded after this one.
 */
#ifndef DINGO_PRELOAD_REAL_H
#define DINGO_PRELOAD_REAL_H

#include <stddef.h>

/* Returns the next definition of `name`, looked up once. Returns NULL if there is none or while
 * this thread is already in a look-up (an allocator called by dlsym()). */
void* dingo_real_lookup(void* _Atomic* slot, const char* name);

#define DINGO_LIKELY(x) __builtin_expect(!!(x), 1)
#define DINGO_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Pointer to the real function `name`, of type `type`. */
#define DINGO_REAL(type, name)                                                    \
    ({                                                                            \
        static void* _Atomic slot_;                                               \
        void* f_ = __atomic_load_n((void**)&slot_, __ATOMIC_RELAXED);             \
        (type)(DINGO_LIKELY(f_ != NULL) ? f_ : dingo_real_lookup(&slot_, #name)); \
    })

/* Symbols of this library that applications see. */
#define DINGO_EXPORT __attribute__((visibility("default")))

/* Binds the application's `name` to `function`, but hides it from dlsym(), which returns libc's
 * function: memory hooks (UCX's libucm) patch the beginning of the function that dlsym() returns
 * and then make the system call themselves. */
#ifdef __x86_64__
#define DINGO_LIBC_VERSION "GLIBC_2.2.5"
#else
#define DINGO_LIBC_VERSION "GLIBC_2.17"
#endif
#define DINGO_BIND(function, name) \
    __asm__(".symver " #function "," #name "@" DINGO_LIBC_VERSION ",remove")

#endif
