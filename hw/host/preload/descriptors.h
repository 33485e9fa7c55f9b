/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Table of the descriptors that belong to this library: one word per descriptor, no locks. For any
 * other descriptor the intercepted functions cost one load and a branch.
 */
#ifndef DINGO_PRELOAD_DESCRIPTORS_H
#define DINGO_PRELOAD_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "real.h"

enum dingo_fd_kind {
    DINGO_FD_NONE = 0,
    DINGO_FD_UVERBS = 1, /* connection to a card; bits 8 and up: minor device number */
    DINGO_FD_COMP = 2,
    DINGO_FD_ASYNC = 3,
    DINGO_FD_RDMA_CM = 5, /* connection to a card's rdma_cm */
    DINGO_FD_ARENA = 4,   /* internal: programs that close all unknown descriptors must not close
                           * it */
    DINGO_FD_HELD = 6,    /* internal: a copy on which a write() waits (rdma_cm.c) */
    DINGO_FD_NETLINK = 7, /* RDMA netlink socket of the view (netlink.c) */
};
#define DINGO_FD_KIND_MASK 0x7u
#define DINGO_FD_FATAL_SEEN 0x8u /* ASYNC: DEVICE_FATAL was delivered */
#define DINGO_FD_MINOR_SHIFT 8

/* Descriptors from this number on are not tracked. Unused pages of the table take no memory. */
#define DINGO_FD_LIMIT (1 << 20)

extern _Atomic uint32_t dingo_fd_table[DINGO_FD_LIMIT];

/* Returns the table entry of `fd`, 0 if it is not tracked. */
static inline uint32_t dingo_fd_entry(int fd) {
    return DINGO_LIKELY((unsigned)fd < DINGO_FD_LIMIT)
               ? atomic_load_explicit(&dingo_fd_table[fd], memory_order_relaxed)
               : 0;
}

static inline enum dingo_fd_kind dingo_fd_kind(uint32_t entry) {
    return (enum dingo_fd_kind)(entry & DINGO_FD_KIND_MASK);
}

/* Returns false if `fd` is too high for the table. */
bool dingo_fd_set(int fd, uint32_t entry, pid_t hello_pid);
void dingo_fd_forget(int fd);
/* Returns true if `fd` is a socket as those to and from a card are, and not another file that got
 * the number after a close that was not intercepted. */
bool dingo_fd_is_connection(int fd);
/* PID of the process that has sent HELLO on this descriptor's connection; negative: a thread of
 * process -PID is sending it. */
_Atomic pid_t* dingo_fd_hello(int fd);
/* Returns false in a vfork() child, which shares its parent's memory and so its table. */
bool dingo_fd_table_is_ours(void);
void dingo_fd_after_fork(void);

#endif
