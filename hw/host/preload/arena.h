/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file behind shared memory: one sparse memfd a process, of all but boundless size. Each piece
 * of shared memory has a slot of it that is far larger than the piece, so that an mremap() that
 * grows the piece, which nobody tells us of (realloc), meets only zeros.
 */
#ifndef DINGO_PRELOAD_ARENA_H
#define DINGO_PRELOAD_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

/* Shorter pieces are small: each costs two mappings of the 65530 that a process may have, so there
 * are few of them. */
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

/* Memory may be shared: the file exists or was made. */
bool dingo_arena_ready(void);
/* The file's descriptor, checked to be still ours; -1: the application has closed it. */
int dingo_arena_fd(void);
bool dingo_arena_owns(const struct dingo_map* map);
/* A private view of what a parent of this process had shared before it forked. */
bool dingo_arena_inherited(const struct dingo_map* map);

/* There may be another piece of `length` bytes. Small regions that find none take the slow road. */
bool dingo_arena_has_room(uint64_t length);
/* A slot for `length` bytes at `va`, or NULL: too many. */
struct dingo_slot* dingo_arena_add(uint64_t va, uint64_t length);
/* The slot that holds `offset`. */
struct dingo_slot* dingo_arena_find(uint64_t offset);
/* Takes back what add() gave last. */
void dingo_arena_drop_last(void);

/* Gives back pages that are not mapped any more; not each time, `now`: for sure. */
void dingo_arena_reap(bool now);

/* Some shared piece may lie in [start, end): a guess, without the lock, that errs on the yes side.
 */
bool dingo_arena_touches(uint64_t start, uint64_t end);

/* fork(): the child gets private views of all shared memory, and forgets the file. */
void dingo_arena_freeze(void);
void dingo_arena_leave(void);

#endif
