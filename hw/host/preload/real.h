/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that ours stand in front of: libc's, or those of another library that was
 * preloaded after this one.
 */
#ifndef DINGO_PRELOAD_REAL_H
#define DINGO_PRELOAD_REAL_H

#include <stddef.h>

/* The next definition of `name`, looked up once; NULL while a look-up of this thread is going on
 * (an allocator that dlsym() calls), or where there is none. */
void* dingo_real_lookup(void* _Atomic* slot, const char* name);

#define DINGO_LIKELY(x) __builtin_expect(!!(x), 1)
#define DINGO_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A pointer to the real `name`, of type `type`. */
#define DINGO_REAL(type, name)                                                    \
    ({                                                                            \
        static void* _Atomic slot_;                                               \
        void* f_ = __atomic_load_n((void**)&slot_, __ATOMIC_RELAXED);             \
        (type)(DINGO_LIKELY(f_ != NULL) ? f_ : dingo_real_lookup(&slot_, #name)); \
    })

/* What applications see of this library. */
#define DINGO_EXPORT __attribute__((visibility("default")))

/* Binds `name` of applications to `function`, but hides it from dlsym(), which gives libc's: memory
 * hooks (UCX's libucm) overwrite the beginning of what dlsym() gives them, and then make the system
 * call themselves. */
#ifdef __x86_64__
#define DINGO_LIBC_VERSION "GLIBC_2.2.5"
#else
#define DINGO_LIBC_VERSION "GLIBC_2.17"
#endif
#define DINGO_BIND(function, name) \
    __asm__(".symver " #function "," #name "@" DINGO_LIBC_VERSION ",remove")

#endif
