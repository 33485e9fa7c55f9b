/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file behind shared memory: one sparse memfd per process, of practically unlimited size. Each
 * piece of shared memory has a slot that is far larger than the piece. If mremap() grows the piece
 * (realloc(), whose calls are not intercepted), the new pages are zeros of that slot.
 */
#ifndef DINGO_PRELOAD_ARENA_H
#define DINGO_PRELOAD_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

/* Pieces shorter than this are small. Each piece takes two of the 65530 mappings that a process
 * may have, so the number of small pieces is limited. */
#define DINGO_SMALL_PIECE (64ULL << 10)

struct dingo_slot {
    uint64_t offset;               /* in the file */
    uint64_t length;               /* length of the piece when it was shared */
    uint64_t va;                   /* address at which the piece was last seen */
    uint64_t live_start, live_end; /* offsets in use, found by the current scan of the mappings */
    bool small;                    /* counted in the number of small pieces */
    bool frozen;                   /* a forked child may see the pages, so they are not freed */
};

/* All functions below, unless they say otherwise, are called with the lock held. Signals are
 * blocked meanwhile. */
void dingo_arena_lock(uint64_t* signals);
void dingo_arena_unlock(const uint64_t* signals);

/* Moves a descriptor of this library to a high number, so that the application gets the usual
 * low ones. Returns the new descriptor. */
int dingo_arena_move_up(int fd);

/* Returns true if memory can be shared. Creates the file if it does not exist. */
bool dingo_arena_ready(void);
/* Returns the file's descriptor, or -1 if there is none or the application has closed it. */
int dingo_arena_fd(void);
/* Returns true if `fd` is a descriptor of the file. Takes no lock. */
bool dingo_arena_is(int fd);
bool dingo_arena_owns(const struct dingo_map* map);
/* Returns true if `map` is a private view of memory that an ancestor of this process shared
 * before fork(). */
bool dingo_arena_inherited(const struct dingo_map* map);

/* Returns true if another piece of `length` bytes fits. Small regions that do not fit take the
 * slow path. */
bool dingo_arena_has_room(uint64_t length);
/* Returns a slot for `length` bytes at `va`, or NULL if there are too many. */
struct dingo_slot* dingo_arena_add(uint64_t va, uint64_t length);
/* Returns the slot that contains `offset`. */
struct dingo_slot* dingo_arena_find(uint64_t offset);
/* Undoes the last dingo_arena_add(). */
void dingo_arena_drop_last(void);

/* Frees pages that are no longer mapped. With `now` it always scans, otherwise only when enough
 * slots or bytes were added since the last scan. */
void dingo_arena_reap(bool now);

/* Returns true if a shared piece may overlap [start, end). Takes no lock; false positives are
 * possible. */
bool dingo_arena_touches(uint64_t start, uint64_t end);

/* Called by fork(), in the parent and in the child: the child gets private views of all shared
 * memory and forgets the file. */
void dingo_arena_freeze(void);
void dingo_arena_leave(void);

#endif
