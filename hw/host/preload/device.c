/* SPDX-License-Identifier: BSD-2-Clause */
#include "device.h"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "arguments.h"
#include "caller.h"
#include "descriptors.h"
#include "paths.h"
#include "rdma_cm.h"
#include "request.h"
#include "sys.h"

#define UVERBS_MAJOR 231
#define UVERBS_FIRST_MINOR 192
#define RDMA_CM_MAJOR 10
#define RDMA_CM_MINOR 58

dev_t dingo_device_rdev(unsigned number) {
    return number == DINGO_RDMA_CM_NUMBER ? makedev(RDMA_CM_MAJOR, RDMA_CM_MINOR)
                                          : makedev(UVERBS_MAJOR, UVERBS_FIRST_MINOR + number);
}

void dingo_device_show(struct stat* st, dev_t rdev) {
    if (S_ISSOCK(st->st_mode)) {
        st->st_mode = S_IFCHR | (st->st_mode & 0777);
        st->st_rdev = rdev;
    }
}

void dingo_device_show_statx(struct statx* st, dev_t rdev) {
    if (S_ISSOCK(st->stx_mode)) {
        st->stx_mode = (uint16_t)(S_IFCHR | (st->stx_mode & 0777));
        st->stx_rdev_major = major(rdev);
        st->stx_rdev_minor = minor(rdev);
    }
}

static void know(int fd, uint32_t rdev) {
    enum dingo_fd_kind kind = rdev >> 20 == RDMA_CM_MAJOR ? DINGO_FD_RDMA_CM : DINGO_FD_UVERBS;

    dingo_fd_set(fd, kind | (rdev & 0xfffff) << DINGO_FD_MINOR_SHIFT, (pid_t)DINGO_SYS(SYS_getpid));
}

bool dingo_device_adopt(int fd) {
    static const char name[] = "/uverbs.sock";
    struct sockaddr_un peer = {.sun_family = AF_UNSPEC};
    socklen_t length = sizeof(peer) - 1; /* leaves room for a terminating 0 */
    int type = 0;
    socklen_t type_length = sizeof(type);
    uint32_t rdev = 0;
    size_t path;

    if (!dingo_view() || (unsigned)fd >= DINGO_FD_LIMIT ||
        DINGO_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &type_length) < 0 ||
        type != SOCK_SEQPACKET || DINGO_SYS(SYS_getpeername, fd, &peer, &length) < 0 ||
        peer.sun_family != AF_UNIX) {
        return false;
    }
    path = strlen(peer.sun_path);
    if (path < sizeof(name) || strcmp(peer.sun_path + path - (sizeof(name) - 1), name) != 0) {
        return false;
    }
    atomic_store(dingo_fd_hello(fd), 0);
    if (dingo_hello(fd, true, &rdev) < 0 || rdev == 0) {
        return false;
    }
    know(fd, rdev);
    return true;
}

int dingo_device_open(const char* path, int number, int flags) {
    uint32_t rdev = UVERBS_MAJOR << 20 | (UVERBS_FIRST_MINOR + (uint32_t)number);
    unsigned card = 0;
    int result;
    int fd;

    if (flags & (O_PATH | O_DIRECTORY)) {
        return dingo_sys_open(path, flags);
    }
    fd = number == DINGO_RDMA_CM_NUMBER ? dingo_rdma_cm_connect(path, flags, &card)
                                        : dingo_connect(path, flags);
    if (fd < 0) {
        return fd;
    }
    if ((unsigned)fd >= DINGO_FD_LIMIT) {
        dingo_sys_close(fd);
        return -EMFILE;
    }
    atomic_store(dingo_fd_hello(fd), 0);
    result = dingo_hello(fd, number != DINGO_RDMA_CM_NUMBER, &rdev);
    if (result < 0) {
        dingo_sys_close(fd);
        /* the card died after accepting the connection: report no device, as if it had died
         * earlier */
        return result == -EIO ? -ENXIO : result;
    }
    if (number == DINGO_RDMA_CM_NUMBER) {
        dingo_rdma_cm_join(fd, card);
    }
    know(fd, rdev);
    return fd;
}

static void become(int fd, int other) {
    long flags = DINGO_SYS(SYS_fcntl, fd, F_GETFD);

    (void)DINGO_SYS(SYS_dup3, other, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
}

/* Replaces `fd` by the current text of `path`, asked from the card that owns it. `below` points
 * to the part of `path` that begins with "/sys". */
static void refresh_counter(int fd, const char* path, const char* below) {
    struct dingo_request request = {.type = DINGO_UVERBS_SYSFS};
    struct dingo_answer answer;
    char place[PATH_MAX + 16];
    int card;

    /* the sysfs tree lies beside the card's socket: DIR/sys, DIR/uverbs.sock */
    request.payload = below + 5;
    request.payload_len = strlen(below + 5);
    snprintf(place, sizeof(place), "%.*s/uverbs.sock", (int)(below - path), path);
    card = dingo_connect(place, O_CLOEXEC);
    if (card < 0) {
        return;
    }
    if (dingo_request_plain(card, &request, &answer) >= 0 && answer.num_fds > 0) {
        become(fd, answer.fds[0]);
    }
    dingo_answer_close(&answer);
    dingo_sys_close(card);
}

void dingo_device_refresh(int fd) {
    char link[32];
    char path[PATH_MAX];
    struct stat st;
    long length;
    char* below;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = DINGO_SYS(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
    if (length <= 0) {
        return;
    }
    path[length] = '\0';
    below = strstr(path, "/sys/devices/");
    if (!below || below == path) {
        return;
    }
    if (dingo_is_counter(below)) {
        refresh_counter(fd, path, below);
    } else if (strstr(below, "/gid_attrs/") && DINGO_SYS(SYS_fstat, fd, &st) == 0 &&
               S_ISREG(st.st_mode) && st.st_size == 0) {
        /* file of an unused GID: read() fails with EINVAL, as it does on an epoll descriptor */
        int unreadable = (int)DINGO_SYS(SYS_epoll_create1, EPOLL_CLOEXEC);

        if (unreadable >= 0) {
            become(fd, unreadable);
            dingo_sys_close(unreadable);
        }
    }
}

static uint32_t kind_of(uint32_t kind) {
    return kind == DINGO_UVERBS_FD_COMP    ? DINGO_FD_COMP
           : kind == DINGO_UVERBS_FD_ASYNC ? DINGO_FD_ASYNC
                                           : DINGO_FD_NONE;
}

/* Stores the numbers of received descriptors at the addresses where the application expects
 * them. */
static void install(struct dingo_answer* answer) {
    for (uint32_t i = 0; i < answer->reply.num_fixups; i++) {
        const struct dingo_uverbs_fixup* fixup = &answer->fixups[i];
        uint32_t number32;
        uint64_t number64;

        if (fixup->fd >= answer->num_fds || answer->fds[fixup->fd] < 0) {
            continue;
        }
        number32 = (uint32_t)answer->fds[fixup->fd];
        number64 = number32;
        if (fixup->size == sizeof(number64)) {
            memcpy((void*)(uintptr_t)fixup->va, &number64, sizeof(number64));
        } else if (fixup->size == sizeof(number32)) {
            memcpy((void*)(uintptr_t)fixup->va, &number32, sizeof(number32));
        } else {
            continue;
        }
        dingo_fd_set((int)number32, kind_of(fixup->kind), 0);
        answer->fds[fixup->fd] = -1;
    }
    dingo_answer_close(answer);
}

static long device_ioctl(int fd, const struct ib_uverbs_ioctl_hdr* header) {
    char copy[DINGO_MAX_IOCTL] __attribute__((aligned(8)));
    struct dingo_request request = {
        .type = DINGO_UVERBS_IOCTL, .arg = (uintptr_t)header, .payload = copy};
    struct dingo_answer answer;
    long result = dingo_copy_from(copy, header, sizeof(*header));

    if (result < 0) {
        return result;
    }
    request.payload_len = ((const struct ib_uverbs_ioctl_hdr*)(const void*)copy)->length;
    if (request.payload_len < sizeof(*header)) {
        return -EINVAL;
    }
    if (request.payload_len > sizeof(copy)) {
        return -ENOMEM;
    }
    result = dingo_copy_from(copy, header, request.payload_len);
    if (result < 0) {
        return result;
    }
    result = dingo_request(fd, &request, &answer);
    install(&answer);
    return result;
}

static long device_write(int fd, const void* data, size_t bytes) {
    const struct dingo_request request = {
        .type = DINGO_UVERBS_WRITE, .arg = (uintptr_t)data, .payload = data, .payload_len = bytes};
    struct dingo_answer answer;
    long result = dingo_request(fd, &request, &answer);

    install(&answer);
    return result;
}

typedef void* mmap_fn(void*, size_t, int, int, int, off_t);

static void* real_mmap(void* at, size_t length, int prot, int flags, int fd, off_t offset) {
    mmap_fn* real = DINGO_REAL(mmap_fn*, mmap);

    if (DINGO_UNLIKELY(!real)) {
        return (void*)dingo_sys_result(DINGO_SYS(SYS_mmap, at, length, prot, flags, fd, offset));
    }
    return real(at, length, prot, flags, fd, offset);
}

static long device_mmap(void* at, size_t length, int prot, int flags, int fd, off_t offset) {
    const struct dingo_request request = {
        .type = DINGO_UVERBS_MMAP, .arg = (uint64_t)offset, .arg2 = length};
    struct dingo_answer answer;
    long result;

    result = dingo_request(fd, &request, &answer);
    if (result >= 0 && answer.num_fds == 0) {
        result = -EIO;
    }
    if (result >= 0) {
        int saved = errno;
        void* map =
            real_mmap(at, length, prot, flags, answer.fds[0], (off_t)answer.reply.map_offset);

        result = map == MAP_FAILED ? -errno : (long)map;
        errno = saved;
    }
    dingo_answer_close(&answer);
    return result;
}

bool dingo_device_is_open(int fd) {
    if (DINGO_LIKELY(dingo_fd_is_connection(fd))) {
        return true;
    }
    dingo_fd_forget(fd);
    return false;
}

DINGO_EXPORT int ioctl(int fd, unsigned long command, ...) {
    int (*real)(int, unsigned long, ...);
    va_list args;
    void* arg;

    va_start(args, command);
    arg = va_arg(args, void*);
    va_end(args);
    if (DINGO_UNLIKELY(dingo_fd_entry(fd)) && (uint32_t)command == (uint32_t)RDMA_VERBS_IOCTL &&
        dingo_fd_kind(dingo_fd_entry(fd)) == DINGO_FD_UVERBS && dingo_device_is_open(fd)) {
        return (int)dingo_sys_result(device_ioctl(fd, arg));
    }
    real = DINGO_REAL(int (*)(int, unsigned long, ...), ioctl);
    return real ? real(fd, command, arg)
                : (int)dingo_sys_result(DINGO_SYS(SYS_ioctl, fd, command, arg));
}

DINGO_EXPORT ssize_t write(int fd, const void* data, size_t bytes) {
    ssize_t (*real)(int, const void*, size_t);
    enum dingo_fd_kind kind = dingo_fd_kind(dingo_fd_entry(fd));

    if (DINGO_UNLIKELY(kind == DINGO_FD_UVERBS || kind == DINGO_FD_RDMA_CM) &&
        dingo_device_is_open(fd)) {
        return dingo_sys_result(kind == DINGO_FD_RDMA_CM ? dingo_rdma_cm_write(fd, data, bytes)
                                                         : device_write(fd, data, bytes));
    }
    real = DINGO_REAL(ssize_t(*)(int, const void*, size_t), write);
    return real ? real(fd, data, bytes) : dingo_sys_result(DINGO_SYS(SYS_write, fd, data, bytes));
}

DINGO_EXPORT void* dingo_mmap(void* at, size_t length, int prot, int flags, int fd, off_t offset);
DINGO_EXPORT void* dingo_mmap(void* at, size_t length, int prot, int flags, int fd, off_t offset) {
    if (DINGO_UNLIKELY(!(flags & MAP_ANONYMOUS) && dingo_fd_entry(fd)) &&
        dingo_fd_kind(dingo_fd_entry(fd)) == DINGO_FD_UVERBS && dingo_device_is_open(fd)) {
        return (void*)dingo_sys_result(device_mmap(at, length, prot, flags, fd, offset));
    }
    return real_mmap(at, length, prot, flags, fd, offset);
}

DINGO_EXPORT void* dingo_mmap64(void* at, size_t length, int prot, int flags, int fd, off_t offset)
    __attribute__((alias("dingo_mmap")));
DINGO_BIND(dingo_mmap, mmap);
DINGO_BIND(dingo_mmap64, mmap64);

/* Called after read() has returned 0 or ECONNRESET: the other end is closed, so the card has
 * died. */
static ssize_t event_channel_ended(int fd, uint32_t entry, void* data) {
    const struct ib_uverbs_async_event_desc fatal = {.event_type = IBV_EVENT_DEVICE_FATAL};

    if (dingo_fd_kind(entry) == DINGO_FD_ASYNC &&
        !(atomic_fetch_or(&dingo_fd_table[fd], DINGO_FD_FATAL_SEEN) & DINGO_FD_FATAL_SEEN)) {
        memcpy(data, &fatal, sizeof(fatal));
        return sizeof(fatal);
    }
    errno = EIO;
    return -1;
}

static ssize_t real_read(int fd, void* data, size_t bytes) {
    ssize_t (*real)(int, void*, size_t) = DINGO_REAL(ssize_t(*)(int, void*, size_t), read);

    return real ? real(fd, data, bytes) : dingo_sys_result(DINGO_SYS(SYS_read, fd, data, bytes));
}

static ssize_t device_read(int fd, uint32_t entry, void* data, size_t bytes) {
    enum dingo_fd_kind kind = dingo_fd_kind(entry);
    size_t least = kind == DINGO_FD_ASYNC  ? sizeof(struct ib_uverbs_async_event_desc)
                   : kind == DINGO_FD_COMP ? sizeof(struct ib_uverbs_comp_event_desc)
                                           : 0;
    int saved = errno;
    ssize_t got;

    if (kind == DINGO_FD_UVERBS || kind == DINGO_FD_RDMA_CM || bytes < least) {
        if (!dingo_device_is_open(fd)) {
            return real_read(fd, data, bytes);
        }
        /* as the kernel's uverbs files do */
        errno = EINVAL;
        return -1;
    }
    got = real_read(fd, data, bytes);
    if (least > 0 && (got == 0 || (got < 0 && errno == ECONNRESET)) && dingo_device_is_open(fd)) {
        errno = saved;
        return event_channel_ended(fd, entry, data);
    }
    return got;
}

DINGO_EXPORT ssize_t read(int fd, void* data, size_t bytes) {
    uint32_t entry = dingo_fd_entry(fd);

    return DINGO_UNLIKELY(entry) ? device_read(fd, entry, data, bytes) : real_read(fd, data, bytes);
}

/* Ends the program with libc's "buffer overflow detected". */
_Noreturn void __chk_fail(void);
DINGO_EXPORT ssize_t __read_chk(int fd, void* data, size_t bytes, size_t room);

/* Called for read() by programs built with _FORTIFY_SOURCE. */
DINGO_EXPORT ssize_t __read_chk(int fd, void* data, size_t bytes, size_t room) {
    if (bytes > room) {
        __chk_fail();
    }
    return read(fd, data, bytes);
}
