/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DINGO_PRELOAD_SAY_H
#define DINGO_PRELOAD_SAY_H

#include <stdatomic.h>

/* Writes "dingo: ", the text and a newline to stderr. */
__attribute__((format(printf, 1, 2))) void dingo_say(const char* format, ...);

/* The same, once per process. */
#define DINGO_SAY_ONCE(...)                          \
    do {                                             \
        static atomic_flag said_ = ATOMIC_FLAG_INIT; \
        if (!atomic_flag_test_and_set(&said_)) {     \
            dingo_say(__VA_ARGS__);                  \
        }                                            \
    } while (0)

#endif
