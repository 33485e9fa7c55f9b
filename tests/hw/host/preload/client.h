/* SPDX-License-Identifier: BSD-2-Clause */
/* Test programs that run under the preload library against the fake card. */
#ifndef DINGO_TEST_CLIENT_H
#define DINGO_TEST_CLIENT_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #what, errno); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum {
    ECHO = 1,
    CHANNELS,
    SHARE,
    POKE,
    PEEK,
    DIE,
    NEED_FD,
    HELLOS,
    CM_WAITING,
    CM_EVENT,
    CM_GIVEN_BACK,
    PLACES,
    MEMORY_KIND,
    ANSWER,
    STEAL,
    ECHOES,
    VERSION,
    HOLD_HELLO
};

#define SKIPPED 77 /* exit status of a case that cannot run here */

/* Calls ioctl() with a method of the fake card. */
int method(int fd, int number, uint64_t a, uint64_t b, uint64_t c);

#define ROOM 16
/* ECHO from `in` to `out`, ROOM bytes each. */
int echo_at(int fd, const void* in, void* out);
/* [0] and [1] are addresses with room for answers of ROOM bytes. */
int method_at(int fd, int number, uint64_t a, uint64_t b);
int open_card(void);
/* Shares [at, at + length); checks that `bytes` were shared. */
void share(int fd, void* at, size_t length, int bytes);

void client_paths(void);
void client_paths_at(void);
void client_stat(void);
void client_counters(void);
void client_gids(void);
void client_ioctl(void);
void client_write(void);
void client_mmap(void);
void client_channels(void);
void client_dead_card(void);
void client_need_fd(void);
void client_dup_close(void);
void client_reused(void);
void client_hello_in_flight(void);
void client_adopt(void);
void client_fork(void);
void client_vfork(void);
void client_exec(void);
void client_threads(void);
void client_netlink(void);
void client_foreign(void);
void client_foreign_refused(void);
void client_foreign_steals(void);
void client_foreign_rdma_cm(void);
void client_event_after_close(void);
void client_idle_token(void);

void client_share_keeps(void);
void client_share_partial(void);
void client_share_faults(void);
void client_share_threads(void);
void client_share_fork(void);
void client_share_dontfork(void);
void client_share_dontneed(void);
void client_share_realloc(void);
void client_share_mremap(void);
void client_share_stack(void);
void client_share_file_limit(void);
void client_share_close_all(void);
void client_share_gives_back(void);
void client_share_many(void);
void client_share_many_large(void);
void client_share_inside(void);
void client_share_populates(void);
void client_share_pinned(void);
void client_share_gpu(void);
void client_share_gpu_loads(void);
void client_share_cuda(void);
void client_share_file(void);
void client_share_file_unprivileged(void);
void client_share_file_locks(void);

#endif
