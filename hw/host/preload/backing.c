/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "descriptors.h"
#include "sys.h"

#define MAX_HELD 8

/* Descriptors that must stay open: closing any descriptor of a file releases all record locks
 * that the process has on the file. */
static struct held {
    dev_t device;
    ino_t inode;
    int fd;
} held[MAX_HELD];
static unsigned num_held;

struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

bool dingo_backing_possible(const struct dingo_map* map) {
    /* file systems without a block device, such as tmpfs */
    return map->shared && map->inode != 0 && map->dev_major == 0;
}

static bool same_file(const struct stat* st, const struct dingo_map* map) {
    return S_ISREG(st->st_mode) && st->st_ino == map->inode &&
           major(st->st_dev) == map->dev_major && minor(st->st_dev) == map->dev_minor;
}

/* Returns `fd` if it is a descriptor of the file of the mapping, with the access needed, else
 * -1. */
static int checked(int fd, const struct dingo_map* map, bool writable) {
    struct stat st;
    struct statfs fs;
    long flags;

    if (fd < 0) {
        return -1;
    }
    flags = DINGO_SYS(SYS_fcntl, fd, F_GETFL);
    if (flags >= 0 && !(flags & O_PATH) && DINGO_SYS(SYS_fstat, fd, &st) == 0 &&
        same_file(&st, map) && DINGO_SYS(SYS_fstatfs, fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
        ((flags & O_ACCMODE) == O_RDWR || ((flags & O_ACCMODE) == O_RDONLY && !writable))) {
        return fd;
    }
    return -1;
}

static int by_path(const char* path, const struct dingo_map* map, bool writable) {
    int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = dingo_sys_open(path, flags);

    if (fd >= 0 && checked(fd, map, writable) < 0) {
        dingo_sys_close(fd);
        return -1;
    }
    return fd;
}

/* Returns a copy of a descriptor of the file that the application still has open, or -1. */
static int by_descriptor(const struct dingo_map* map, bool writable) {
    int dir = dingo_sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char buffer[1024] __attribute__((aligned(8)));
    int found = -1;
    long got;

    if (dir < 0) {
        return -1;
    }
    while (found < 0 && (got = DINGO_SYS(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; found < 0 && at < got;) {
            const struct entry* entry = (const struct entry*)(buffer + at);
            int number = entry->name[0] == '.' ? -1 : (int)strtol(entry->name, NULL, 10);

            if (number != dir && checked(number, map, writable) >= 0) {
                found = (int)DINGO_SYS(SYS_fcntl, number, F_DUPFD_CLOEXEC, 3);
            }
            at += entry->length;
        }
    }
    dingo_sys_close(dir);
    return found;
}

int dingo_backing_open(const struct dingo_map* map, bool writable) {
    char path[64];
    struct stat st;
    int fd;

    for (unsigned i = 0; i < num_held; i++) {
        if (held[i].inode == map->inode && major(held[i].device) == map->dev_major &&
            minor(held[i].device) == map->dev_minor && checked(held[i].fd, map, writable) >= 0) {
            return held[i].fd;
        }
    }
    if (num_held == MAX_HELD) {
        return -1;
    }
    /* Needs root or CAP_CHECKPOINT_RESTORE. Also works for files without a name. */
    snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)map->start,
             (unsigned long)map->end);
    fd = by_path(path, map, writable);
    /* the name may lead to a pipe by now, which must not be opened */
    if (fd < 0 && map->name[0] == '/' &&
        DINGO_SYS(SYS_newfstatat, AT_FDCWD, map->name, &st, 0) == 0 && same_file(&st, map)) {
        fd = by_path(map->name, map, writable);
    }
    return fd >= 0 ? fd : by_descriptor(map, writable);
}

void dingo_backing_close(int fd) {
    /* F_OFD_GETLK also reports locks of this process */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;

    for (unsigned i = 0; i < num_held; i++) {
        if (held[i].fd == fd) {
            return;
        }
    }
    if (DINGO_SYS(SYS_fcntl, fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
        num_held < MAX_HELD && DINGO_SYS(SYS_fstat, fd, &st) == 0) {
        dingo_fd_set(fd, DINGO_FD_HELD, 0);
        held[num_held++] = (struct held){st.st_dev, st.st_ino, fd};
        return;
    }
    dingo_sys_close(fd);
}
