/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrappers of functions that open files and directories by name.
 */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "descriptors.h"
#include "device.h"
#include "paths.h"
#include "sys.h"

typedef int open_fn(const char*, int, ...);
typedef int openat_fn(int, const char*, int, ...);

/* libc has returned this number for a new file, so it is no longer a descriptor of this library. */
static int opened(int fd) {
    if (DINGO_UNLIKELY(dingo_fd_entry(fd))) {
        dingo_fd_forget(fd);
    }
    return fd;
}

/* Refreshes a file after a path that is or may be in a view was opened. */
static int refreshed(int fd, int flags) {
    if (fd >= 0 && (flags & (O_ACCMODE | O_PATH | O_DIRECTORY)) == O_RDONLY) {
        dingo_device_refresh(fd);
    }
    return fd;
}

/* Opens a rewritten path. Returns -2 if the libc function should open `path` instead. */
static int open_in_view(const char* path, int flags) {
    int number = dingo_device_number(path);

    return number >= 0 ? (int)dingo_sys_result(dingo_device_open(path, number, flags)) : -2;
}

/* Returns 1 if `fd` is the result, 0 if libc should open *path. */
static int before_open(int dirfd, const char** path, int flags, char buffer[PATH_MAX], int* fd) {
    const char* rewritten = dingo_rewrite_at(dirfd, *path, buffer);

    *fd = -1;
    if (DINGO_LIKELY(rewritten == *path)) {
        return 0;
    }
    if (!rewritten) {
        return 1;
    }
    *path = rewritten;
    *fd = open_in_view(rewritten, flags);
    return *fd != -2;
}

/* `original`: path as the application passed it; `path`: path as it was opened. */
static int after_open(int dirfd, const char* original, const char* path, int flags, int fd) {
    opened(fd);
    if (DINGO_LIKELY(original == path)) {
        if (!original || original[0] == '/' || !dingo_view()) {
            return fd;
        }
        /* a relative path leads into the view only if its directory is in the view */
        if (dirfd == AT_FDCWD
                ? !dingo_cwd_in_view()
                : strstr(original, "counters/") == NULL && strstr(original, "gid_attrs/") == NULL) {
            return fd;
        }
    } else if (!dingo_is_dynamic(path)) {
        return fd;
    }
    return refreshed(fd, flags);
}

#define NEEDS_MODE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)

#define DEFINE_OPEN(name)                                                              \
    DINGO_EXPORT int name(const char* original, int flags, ...) {                      \
        open_fn* real = DINGO_REAL(open_fn*, name);                                    \
        char buffer[PATH_MAX];                                                         \
        const char* path = original;                                                   \
        mode_t mode = 0;                                                               \
        int fd;                                                                        \
                                                                                       \
        if (NEEDS_MODE(flags)) {                                                       \
            va_list args;                                                              \
                                                                                       \
            va_start(args, flags);                                                     \
            mode = (mode_t)va_arg(args, unsigned);                                     \
            va_end(args);                                                              \
        }                                                                              \
        if (before_open(AT_FDCWD, &path, flags, buffer, &fd)) {                        \
            return fd;                                                                 \
        }                                                                              \
        fd = real ? real(path, flags, mode)                                            \
                  : (int)dingo_sys_result(                                             \
                        DINGO_SYS(SYS_openat, AT_FDCWD, path, flags, (unsigned)mode)); \
        return after_open(AT_FDCWD, original, path, flags, fd);                        \
    }

#define DEFINE_OPENAT(name)                                                         \
    DINGO_EXPORT int name(int dirfd, const char* original, int flags, ...) {        \
        openat_fn* real = DINGO_REAL(openat_fn*, name);                             \
        char buffer[PATH_MAX];                                                      \
        const char* path = original;                                                \
        mode_t mode = 0;                                                            \
        int fd;                                                                     \
                                                                                    \
        if (NEEDS_MODE(flags)) {                                                    \
            va_list args;                                                           \
                                                                                    \
            va_start(args, flags);                                                  \
            mode = (mode_t)va_arg(args, unsigned);                                  \
            va_end(args);                                                           \
        }                                                                           \
        if (before_open(dirfd, &path, flags, buffer, &fd)) {                        \
            return fd;                                                              \
        }                                                                           \
        fd = real ? real(dirfd, path, flags, mode)                                  \
                  : (int)dingo_sys_result(                                          \
                        DINGO_SYS(SYS_openat, dirfd, path, flags, (unsigned)mode)); \
        return after_open(dirfd, original, path, flags, fd);                        \
    }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* Called by programs built with _FORTIFY_SOURCE if no mode is passed. */
#define DEFINE_OPEN_2(name, plain)                       \
    DINGO_EXPORT int name(const char* path, int flags);  \
    DINGO_EXPORT int name(const char* path, int flags) { \
        return plain(path, flags);                       \
    }
#define DEFINE_OPENAT_2(name, plain)                                \
    DINGO_EXPORT int name(int dirfd, const char* path, int flags);  \
    DINGO_EXPORT int name(int dirfd, const char* path, int flags) { \
        return plain(dirfd, path, flags);                           \
    }
DEFINE_OPEN_2(__open_2, open)
DEFINE_OPEN_2(__open64_2, open64)
DEFINE_OPENAT_2(__openat_2, openat)
DEFINE_OPENAT_2(__openat64_2, openat64)

/* Opens a rewritten path as a stream. Returns NULL on failure or if libc can open it as well. */
static FILE* open_counter(const char* path, const char* mode) {
    FILE* file;
    int fd;

    if (mode[0] != 'r' || strchr(mode, '+') || !dingo_is_dynamic(path)) {
        return NULL;
    }
    fd = dingo_sys_open(path, O_RDONLY | (strchr(mode, 'e') ? O_CLOEXEC : 0));
    if (fd < 0) {
        return NULL;
    }
    file = fdopen(refreshed(fd, O_RDONLY), mode);
    if (!file) {
        dingo_sys_close(fd);
    }
    return file;
}

static int flags_of(const char* mode) {
    return mode[0] == 'r' && !strchr(mode, '+') ? O_RDONLY : O_RDWR;
}

#define DEFINE_FOPEN(name)                                                             \
    DINGO_EXPORT FILE* name(const char* original, const char* mode) {                  \
        char buffer[PATH_MAX];                                                         \
        const char* path = dingo_rewrite(original, buffer);                            \
        FILE* file = NULL;                                                             \
                                                                                       \
        if (DINGO_UNLIKELY(path != original)) {                                        \
            file = path ? open_counter(path, mode) : NULL;                             \
        }                                                                              \
        if (!file && (path || !original)) {                                            \
            file = DINGO_REAL(FILE * (*)(const char*, const char*), name)(path, mode); \
            if (file) {                                                                \
                after_open(AT_FDCWD, original, path, flags_of(mode), fileno(file));    \
            }                                                                          \
        }                                                                              \
        return file;                                                                   \
    }

#define DEFINE_FREOPEN(name)                                                                      \
    DINGO_EXPORT FILE* name(const char* original, const char* mode, FILE* stream) {               \
        char buffer[PATH_MAX];                                                                    \
        const char* path = dingo_rewrite(original, buffer);                                       \
                                                                                                  \
        return path || !original ? DINGO_REAL(FILE * (*)(const char*, const char*, FILE*), name)( \
                                       path, mode, stream)                                        \
                                 : NULL;                                                          \
    }

DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
DEFINE_FREOPEN(freopen)
DEFINE_FREOPEN(freopen64)

/* Functions with one path; the other arguments are passed through. */
#define DEFINE_PATH(type, name, failure, parameters, arguments) \
    DINGO_EXPORT type name parameters {                         \
        char buffer[PATH_MAX];                                  \
        const char* path = dingo_rewrite(original, buffer);     \
                                                                \
        if (DINGO_UNLIKELY(!path && original)) {                \
            return failure;                                     \
        }                                                       \
        return DINGO_REAL(type(*) parameters, name) arguments;  \
    }

typedef int filter_fn(const struct dirent*);
typedef int filter64_fn(const struct dirent64*);
typedef int order_fn(const struct dirent**, const struct dirent**);
typedef int order64_fn(const struct dirent64**, const struct dirent64**);
typedef int glob_error_fn(const char*, int);

DEFINE_PATH(DIR*, opendir, NULL, (const char* original), (path))
DEFINE_PATH(int, scandir, -1,
            (const char* original, struct dirent*** list, filter_fn* filter, order_fn* order),
            (path, list, filter, order))
DEFINE_PATH(int, scandir64, -1,
            (const char* original, struct dirent64*** list, filter64_fn* filter, order64_fn* order),
            (path, list, filter, order))
DEFINE_PATH(int, glob, GLOB_NOMATCH,
            (const char* original, int flags, glob_error_fn* error, glob_t* result),
            (path, flags, error, result))
DEFINE_PATH(int, glob64, GLOB_NOMATCH,
            (const char* original, int flags, glob_error_fn* error, glob64_t* result),
            (path, flags, error, result))

DINGO_EXPORT int chdir(const char* original) {
    char buffer[PATH_MAX];
    const char* path = dingo_rewrite(original, buffer);
    int result;

    if (!path && original) {
        return -1;
    }
    result = DINGO_REAL(int (*)(const char*), chdir)(path);
    if (result == 0 && (path != original || path[0] == '/')) {
        dingo_cwd_changed(path != original);
    }
    return result;
}
