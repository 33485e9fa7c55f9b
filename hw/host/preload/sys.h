/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that bypass this library's wrappers, are no cancellation points, and return -errno
 * instead of setting errno.
 */
#ifndef DINGO_PRELOAD_SYS_H
#define DINGO_PRELOAD_SYS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(long) == 8, "a 64-bit system: struct stat and struct stat64 are the same");

#define DINGO_SYS(...)                                 \
    ({                                                 \
        int saved_ = errno;                            \
        long result_ = syscall(__VA_ARGS__);           \
        long answer_ = result_ < 0 ? -errno : result_; \
        errno = saved_;                                \
        answer_;                                       \
    })

static inline int dingo_sys_open(const char* path, int flags) {
    return (int)DINGO_SYS(SYS_openat, -100 /* AT_FDCWD */, path, flags, 0);
}

static inline void dingo_sys_close(int fd) {
    (void)DINGO_SYS(SYS_close, fd);
}

/* Converts the result of a system call to the libc convention, for a wrapper. */
static inline long dingo_sys_result(long answer) {
    if (answer >= 0) {
        return answer;
    }
    errno = (int)-answer;
    return -1;
}

#endif
