/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file behind shared memory: one sparse memfd a process, of practically unlimited size. Each
 * piece of shared memory has a slot that is far larger than the piece, so that an mremap() that
 * grows it (realloc(), which we do not see) finds only zeros.
 */
#ifndef DINGO_PRELOAD_ARENA_H
#define DINGO_PRELOAD_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

/* Shorter pieces are small. Each takes two of the 65530 mappings that a process may have, so
 * their number is limited. */
#define DINGO_SMALL_PIECE (64ULL << 10)

struct dingo_slot {
    uint64_t offset;               /* in the file */
    uint64_t length;               /* of the piece when it was shared */
    uint64_t va;                   /* where the piece was seen last */
    uint64_t live_start, live_end; /* offsets in use, by the present look at the mappings */
    bool small;                    /* counted as such */
    bool frozen;                   /* a forked child may see it: its pages are not given back */
};

/* All below is called with the lock held; signals are blocked meanwhile. */
void dingo_arena_lock(uint64_t* signals);
void dingo_arena_unlock(const uint64_t* signals);

/* Gives a descriptor of ours a high number, so that the application's own get the usual ones. */
int dingo_arena_move_up(int fd);

/* Whether memory can be shared: the file exists or was created. */
bool dingo_arena_ready(void);
/* The file's descriptor, checked to be still ours; -1: the application has closed it. */
int dingo_arena_fd(void);
bool dingo_arena_owns(const struct dingo_map* map);
/* A private view of what a parent of this process had shared before it forked. */
bool dingo_arena_inherited(const struct dingo_map* map);

/* Whether there is room for another piece of `length` bytes. Small regions without room take the
 * slow path. */
bool dingo_arena_has_room(uint64_t length);
/* A slot for `length` bytes at `va`, or NULL: too many. */
struct dingo_slot* dingo_arena_add(uint64_t va, uint64_t length);
/* The slot that holds `offset`. */
struct dingo_slot* dingo_arena_find(uint64_t offset);
/* Undoes the last dingo_arena_add(). */
void dingo_arena_drop_last(void);

/* Frees pages that are no longer mapped. `now`: always; otherwise only now and then. */
void dingo_arena_reap(bool now);

/* Whether a shared piece may lie in [start, end). Takes no lock, and may say yes wrongly. */
bool dingo_arena_touches(uint64_t start, uint64_t end);

/* fork(): the child gets private views of all shared memory, and forgets the file. */
void dingo_arena_freeze(void);
void dingo_arena_leave(void);

#endif
