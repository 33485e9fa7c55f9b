/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrappers of functions that query files: stat and its variants, access, links.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "descriptors.h"
#include "device.h"
#include "paths.h"
#include "sys.h"

/* Returns the path to use for `path`; sets *number to the device number that it leads to, else
 * -1. */
static const char* resolve(int dirfd, const char* path, char buffer[PATH_MAX], int* number) {
    const char* rewritten = dingo_rewrite_at(dirfd, path, buffer);

    *number = DINGO_UNLIKELY(rewritten != path) && rewritten ? dingo_device_number(rewritten) : -1;
    return rewritten;
}

static int shown(int result, struct stat* st, int number) {
    if (DINGO_UNLIKELY(number >= 0) && result == 0) {
        dingo_device_show(st, dingo_device_rdev((unsigned)number));
    }
    return result;
}

/* Returns the device number of an open device, 0 for any other file. */
static dev_t device_of(int fd) {
    uint32_t entry = dingo_fd_entry(fd);
    enum dingo_fd_kind kind = dingo_fd_kind(entry);

    if (DINGO_LIKELY(kind != DINGO_FD_UVERBS && kind != DINGO_FD_RDMA_CM) ||
        !dingo_device_is_open(fd)) {
        return 0;
    }
    return kind == DINGO_FD_UVERBS ? dingo_device_rdev(0) - 192 + (entry >> DINGO_FD_MINOR_SHIFT)
                                   : dingo_device_rdev(DINGO_RDMA_CM_NUMBER);
}

static int shown_fd(int result, struct stat* st, int fd) {
    dev_t device;

    if (DINGO_UNLIKELY(result == 0 && S_ISSOCK(st->st_mode))) {
        if (!dingo_fd_entry(fd)) {
            (void)dingo_device_adopt(fd);
        }
        device = device_of(fd);
        if (device != 0) {
            dingo_device_show(st, device);
        }
    }
    return result;
}

/* On a 64-bit system stat64 equals stat. Links of the view that lead to a device are not shown
 * as links. */
#define DEFINE_STAT(type, name, follow)                                                     \
    DINGO_EXPORT int name(const char* original, type* st) {                                 \
        char buffer[PATH_MAX];                                                              \
        int number;                                                                         \
        const char* path = resolve(AT_FDCWD, original, buffer, &number);                    \
        int (*real)(const char*, type*) = DINGO_REAL(int (*)(const char*, type*), name);    \
                                                                                            \
        if (DINGO_UNLIKELY(!path && original)) {                                            \
            return -1;                                                                      \
        }                                                                                   \
        if (DINGO_UNLIKELY(!real || number >= 0)) {                                         \
            return shown((int)dingo_sys_result(                                             \
                             DINGO_SYS(SYS_newfstatat, AT_FDCWD, path, st,                  \
                                       (follow) || number >= 0 ? 0 : AT_SYMLINK_NOFOLLOW)), \
                         (struct stat*)st, number);                                         \
        }                                                                                   \
        return real(path, st);                                                              \
    }

#define DEFINE_XSTAT(type, name, plain)                              \
    DINGO_EXPORT int name(int version, const char* path, type* st);  \
    DINGO_EXPORT int name(int version, const char* path, type* st) { \
        (void)version;                                               \
        return plain(path, st);                                      \
    }

#define DEFINE_FSTAT(type, name)                                                                \
    DINGO_EXPORT int name(int fd, type* st) {                                                   \
        int (*real)(int, type*) = DINGO_REAL(int (*)(int, type*), name);                        \
        int result = real ? real(fd, st) : (int)dingo_sys_result(DINGO_SYS(SYS_fstat, fd, st)); \
                                                                                                \
        return shown_fd(result, (struct stat*)st, fd);                                          \
    }

#define DEFINE_FXSTAT(type, name, plain)                   \
    DINGO_EXPORT int name(int version, int fd, type* st);  \
    DINGO_EXPORT int name(int version, int fd, type* st) { \
        (void)version;                                     \
        return plain(fd, st);                              \
    }

#define DEFINE_FSTATAT(type, name)                                                                \
    DINGO_EXPORT int name(int dirfd, const char* original, type* st, int flags) {                 \
        char buffer[PATH_MAX];                                                                    \
        int number;                                                                               \
        const char* path = resolve(dirfd, original, buffer, &number);                             \
        int (*real)(int, const char*, type*, int) =                                               \
            DINGO_REAL(int (*)(int, const char*, type*, int), name);                              \
        int result;                                                                               \
                                                                                                  \
        if (DINGO_UNLIKELY(!path && original)) {                                                  \
            return -1;                                                                            \
        }                                                                                         \
        flags &= number >= 0 ? ~AT_SYMLINK_NOFOLLOW : ~0;                                         \
        result = real ? real(dirfd, path, st, flags)                                              \
                      : (int)dingo_sys_result(DINGO_SYS(SYS_newfstatat, dirfd, path, st, flags)); \
        if (flags & AT_EMPTY_PATH && path && path[0] == '\0') {                                   \
            return shown_fd(result, (struct stat*)st, dirfd);                                     \
        }                                                                                         \
        return shown(result, (struct stat*)st, number);                                           \
    }

#define DEFINE_FXSTATAT(type, name, plain)                                                 \
    DINGO_EXPORT int name(int version, int dirfd, const char* path, type* st, int flags);  \
    DINGO_EXPORT int name(int version, int dirfd, const char* path, type* st, int flags) { \
        (void)version;                                                                     \
        return plain(dirfd, path, st, flags);                                              \
    }

DEFINE_STAT(struct stat, stat, true)
DEFINE_STAT(struct stat64, stat64, true)
DEFINE_STAT(struct stat, lstat, false)
DEFINE_STAT(struct stat64, lstat64, false)
DEFINE_FSTAT(struct stat, fstat)
DEFINE_FSTAT(struct stat64, fstat64)
DEFINE_FSTATAT(struct stat, fstatat)
DEFINE_FSTATAT(struct stat64, fstatat64)

/* For programs built with glibc before 2.33. */
DEFINE_XSTAT(struct stat, __xstat, stat)
DEFINE_XSTAT(struct stat64, __xstat64, stat64)
DEFINE_XSTAT(struct stat, __lxstat, lstat)
DEFINE_XSTAT(struct stat64, __lxstat64, lstat64)
DEFINE_FXSTAT(struct stat, __fxstat, fstat)
DEFINE_FXSTAT(struct stat64, __fxstat64, fstat64)
DEFINE_FXSTATAT(struct stat, __fxstatat, fstatat)
DEFINE_FXSTATAT(struct stat64, __fxstatat64, fstatat64)

DINGO_EXPORT int statx(int dirfd, const char* original, int flags, unsigned mask,
                       struct statx* st) {
    int (*real)(int, const char*, int, unsigned, struct statx*) =
        DINGO_REAL(int (*)(int, const char*, int, unsigned, struct statx*), statx);
    char buffer[PATH_MAX];
    int number;
    const char* path = resolve(dirfd, original, buffer, &number);
    int result;

    if (DINGO_UNLIKELY(!path && original)) {
        return -1;
    }
    flags &= number >= 0 ? ~AT_SYMLINK_NOFOLLOW : ~0;
    result = real ? real(dirfd, path, flags, mask, st)
                  : (int)dingo_sys_result(DINGO_SYS(SYS_statx, dirfd, path, flags, mask, st));
    if (result != 0) {
        return result;
    }
    if (DINGO_UNLIKELY(number >= 0)) {
        dingo_device_show_statx(st, dingo_device_rdev((unsigned)number));
    } else if (flags & AT_EMPTY_PATH && (!path || path[0] == '\0')) {
        dev_t device = device_of(dirfd);

        if (device != 0) {
            dingo_device_show_statx(st, device);
        }
    }
    return 0;
}

#define DEFINE_PATH_AT(type, name, failure, parameters, dirfd, arguments) \
    DINGO_EXPORT type name parameters {                                   \
        char buffer[PATH_MAX];                                            \
        const char* path = dingo_rewrite_at(dirfd, original, buffer);     \
                                                                          \
        if (DINGO_UNLIKELY(!path && original)) {                          \
            return failure;                                               \
        }                                                                 \
        return DINGO_REAL(type(*) parameters, name) arguments;            \
    }

DEFINE_PATH_AT(int, access, -1, (const char* original, int mode), AT_FDCWD, (path, mode))
DEFINE_PATH_AT(int, eaccess, -1, (const char* original, int mode), AT_FDCWD, (path, mode))
DEFINE_PATH_AT(int, euidaccess, -1, (const char* original, int mode), AT_FDCWD, (path, mode))
DEFINE_PATH_AT(int, faccessat, -1, (int dirfd, const char* original, int mode, int flags), dirfd,
               (dirfd, path, mode, flags))
DEFINE_PATH_AT(ssize_t, readlink, -1, (const char* original, char* target, size_t room), AT_FDCWD,
               (path, target, room))
DEFINE_PATH_AT(ssize_t, readlinkat, -1,
               (int dirfd, const char* original, char* target, size_t room), dirfd,
               (dirfd, path, target, room))
DEFINE_PATH_AT(char*, realpath, NULL, (const char* original, char* resolved), AT_FDCWD,
               (path, resolved))
DEFINE_PATH_AT(char*, canonicalize_file_name, NULL, (const char* original), AT_FDCWD, (path))

/* ls asks for access control lists and labels. */
DEFINE_PATH_AT(ssize_t, getxattr, -1,
               (const char* original, const char* name, void* value, size_t room), AT_FDCWD,
               (path, name, value, room))
DEFINE_PATH_AT(ssize_t, lgetxattr, -1,
               (const char* original, const char* name, void* value, size_t room), AT_FDCWD,
               (path, name, value, room))
DEFINE_PATH_AT(ssize_t, listxattr, -1, (const char* original, char* list, size_t room), AT_FDCWD,
               (path, list, room))
DEFINE_PATH_AT(ssize_t, llistxattr, -1, (const char* original, char* list, size_t room), AT_FDCWD,
               (path, list, room))

/* Called by programs built with _FORTIFY_SOURCE. */
DINGO_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t room);
DINGO_EXPORT ssize_t __readlink_chk(const char* path, char* target, size_t bytes, size_t room);
DINGO_EXPORT ssize_t __readlinkat_chk(int dirfd, const char* path, char* target, size_t bytes,
                                      size_t room);
DEFINE_PATH_AT(char*, __realpath_chk, NULL, (const char* original, char* resolved, size_t room),
               AT_FDCWD, (path, resolved, room))
DEFINE_PATH_AT(ssize_t, __readlink_chk, -1,
               (const char* original, char* target, size_t bytes, size_t room), AT_FDCWD,
               (path, target, bytes, room))
DEFINE_PATH_AT(ssize_t, __readlinkat_chk, -1,
               (int dirfd, const char* original, char* target, size_t bytes, size_t room), dirfd,
               (dirfd, path, target, bytes, room))
