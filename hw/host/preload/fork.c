/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(): the child may use its parent's connections (after a HELLO of its own), but gets private
 * memory.
 */
#include <pthread.h>

#include "arena.h"
#include "descriptors.h"
#include "paths.h"

static uint64_t signals; /* written with the lock held */

static void before(void) {
    uint64_t mask;

    dingo_arena_lock(&mask);
    signals = mask;
    dingo_arena_freeze();
}

static void in_parent(void) {
    uint64_t mask = signals;

    dingo_arena_unlock(&mask);
}

static void in_child(void) {
    uint64_t mask = signals;

    dingo_fd_after_fork();
    dingo_arena_leave();
    dingo_arena_unlock(&mask);
}

static void __attribute__((constructor)) start(void) {
    if (dingo_view()) {
        (void)dingo_fd_table_is_ours();
        pthread_atfork(before, in_parent, in_child);
    }
}
