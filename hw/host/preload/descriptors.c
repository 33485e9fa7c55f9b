/* SPDX-License-Identifier: BSD-2-Clause */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arena.h"
#include "sys.h"

_Atomic uint32_t dingo_fd_table[DINGO_FD_LIMIT];
static _Atomic pid_t hello_pids[DINGO_FD_LIMIT];
static atomic_int highest = -1; /* highest descriptor that was ever tracked */
static _Atomic pid_t owner;

bool dingo_fd_table_is_ours(void) {
    pid_t self = (pid_t)DINGO_SYS(SYS_getpid);
    pid_t known = 0;

    return atomic_compare_exchange_strong(&owner, &known, self) || known == self;
}

bool dingo_fd_is_connection(int fd) {
    int type = 0;
    socklen_t length = sizeof(type);

    return DINGO_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_SEQPACKET;
}

/* A forked child closes held copies: the thread that waits on one exists only in the parent. */
void dingo_fd_after_fork(void) {
    int top = atomic_load(&highest);

    atomic_store(&owner, (pid_t)DINGO_SYS(SYS_getpid));
    for (int fd = 0; fd <= top; fd++) {
        if (dingo_fd_kind(dingo_fd_entry(fd)) == DINGO_FD_HELD) {
            atomic_store(&dingo_fd_table[fd], 0);
            if (dingo_fd_is_connection(fd)) {
                dingo_sys_close(fd);
            }
        }
    }
}

bool dingo_fd_set(int fd, uint32_t entry, pid_t hello_pid) {
    int top = atomic_load(&highest);

    if ((unsigned)fd >= DINGO_FD_LIMIT) {
        return false;
    }
    if (!dingo_fd_table_is_ours()) {
        return true;
    }
    while (fd > top && !atomic_compare_exchange_weak(&highest, &top, fd)) {
    }
    atomic_store(&hello_pids[fd], hello_pid);
    atomic_store(&dingo_fd_table[fd], entry);
    return true;
}

void dingo_fd_forget(int fd) {
    if (dingo_fd_entry(fd) && dingo_fd_table_is_ours()) {
        atomic_store(&dingo_fd_table[fd], 0);
    }
}

_Atomic pid_t* dingo_fd_hello(int fd) {
    return &hello_pids[fd];
}

/* Updates the table after `to` has become a copy of `from`. */
static void copied(int from, int to) {
    uint32_t entry = dingo_fd_entry(from);

    if (to < 0) {
        return;
    }
    if (DINGO_UNLIKELY(entry)) {
        pid_t hello_pid = atomic_load(&hello_pids[from]);

        /* the thread that sends HELLO reports it for `from` only */
        dingo_fd_set(to, entry, hello_pid < 0 ? 0 : hello_pid);
    } else if (DINGO_UNLIKELY(dingo_fd_entry(to))) {
        dingo_fd_forget(to);
    }
}

static void forget_range(unsigned first, unsigned last) {
    int top = atomic_load(&highest);

    for (unsigned fd = first; top >= 0 && fd <= last && fd <= (unsigned)top; fd++) {
        if (dingo_fd_entry((int)fd)) {
            dingo_fd_forget((int)fd);
        }
    }
}

/* Returns true for a descriptor that the application does not know. A vfork() child may close
 * its copy. */
static bool is_hidden(int fd) {
    enum dingo_fd_kind kind = dingo_fd_kind(dingo_fd_entry(fd));

    if ((kind != DINGO_FD_ARENA && kind != DINGO_FD_HELD) || !dingo_fd_table_is_ours()) {
        return false;
    }
    if (kind == DINGO_FD_ARENA ? dingo_arena_is(fd) : dingo_fd_is_connection(fd)) {
        return true;
    }
    dingo_fd_forget(fd);
    return false;
}

/* Returns the first hidden descriptor in [first, last], or -1. */
static int hidden_in(unsigned first, unsigned last) {
    int top = atomic_load(&highest);

    for (unsigned fd = first; top >= 0 && fd <= last && fd <= (unsigned)top; fd++) {
        if (is_hidden((int)fd)) {
            return (int)fd;
        }
    }
    return -1;
}

/* Another thread may get the number right after the close, so the entry is cleared before. */
DINGO_EXPORT int close(int fd) {
    int (*real)(int);

    if (DINGO_UNLIKELY(dingo_fd_entry(fd))) {
        if (is_hidden(fd)) {
            errno = EBADF;
            return -1;
        }
        dingo_fd_forget(fd);
    }
    real = DINGO_REAL(int (*)(int), close);
    return real ? real(fd) : (int)dingo_sys_result(DINGO_SYS(SYS_close, fd));
}

DINGO_EXPORT int dup(int fd) {
    int copy = DINGO_REAL(int (*)(int), dup)(fd);

    copied(fd, copy);
    return copy;
}

DINGO_EXPORT int dup2(int fd, int to) {
    int copy = DINGO_REAL(int (*)(int, int), dup2)(fd, to);

    if (fd != to) {
        copied(fd, copy);
    }
    return copy;
}

DINGO_EXPORT int dup3(int fd, int to, int flags) {
    int copy = DINGO_REAL(int (*)(int, int, int), dup3)(fd, to, flags);

    copied(fd, copy);
    return copy;
}

typedef int fcntl_fn(int, int, ...);

static int after_fcntl(int fd, int command, int result) {
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        copied(fd, result);
    }
    return result;
}

#define DEFINE_FCNTL(name)                                                        \
    DINGO_EXPORT int name(int fd, int command, ...) {                             \
        fcntl_fn* real = DINGO_REAL(fcntl_fn*, name);                             \
        va_list args;                                                             \
        void* arg;                                                                \
                                                                                  \
        va_start(args, command);                                                  \
        arg = va_arg(args, void*);                                                \
        va_end(args);                                                             \
        if (!real) {                                                              \
            return (int)dingo_sys_result(DINGO_SYS(SYS_fcntl, fd, command, arg)); \
        }                                                                         \
        return after_fcntl(fd, command, real(fd, command, arg));                  \
    }
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

#define CLOSE_RANGE_CLOEXEC_BIT 4u /* CLOSE_RANGE_CLOEXEC, which old headers lack */

static int real_close_range(unsigned first, unsigned last, int flags) {
    int (*real)(unsigned, unsigned, int) =
        DINGO_REAL(int (*)(unsigned, unsigned, int), close_range);

    return real ? real(first, last, flags)
                : (int)dingo_sys_result(DINGO_SYS(SYS_close_range, first, last, flags));
}

DINGO_EXPORT int close_range(unsigned first, unsigned last, int flags) {
    int hidden =
        first <= last && !((unsigned)flags & CLOSE_RANGE_CLOEXEC_BIT) ? hidden_in(first, last) : -1;

    if (DINGO_UNLIKELY(hidden >= 0)) {
        unsigned at = (unsigned)hidden;

        if ((at > first && close_range(first, at - 1, flags) != 0) ||
            (at < last && close_range(at + 1, last, flags) != 0)) {
            return -1;
        }
        return 0;
    }
    if (!((unsigned)flags & CLOSE_RANGE_CLOEXEC_BIT)) {
        forget_range(first, last);
    }
    return real_close_range(first, last, flags);
}

DINGO_EXPORT void closefrom(int first) {
    void (*real)(int) = DINGO_REAL(void (*)(int), closefrom);
    unsigned from = first < 0 ? 0 : (unsigned)first;
    int hidden = hidden_in(from, ~0u);

    if (hidden >= 0 || !real) {
        (void)close_range(from, ~0u, 0);
        return;
    }
    forget_range(from, ~0u);
    real(first);
}
