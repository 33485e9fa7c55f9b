/* SPDX-License-Identifier: BSD-2-Clause */
#include "sharing.h"

#include <stdatomic.h>

#include "advice.h"
#include "arena.h"
#include "convert.h"
#include "descriptors.h"

#define PAGE 4096ULL
#define MAX_PIECES 64 /* mappings of one region that are looked at */

struct walk {
    struct dingo_shared_range* range;
    uint64_t end;
    uint64_t covered; /* up to here all is mapped as asked */
    struct dingo_map pieces[MAX_PIECES];
    unsigned num_pieces;
};

/* First look: is all of it there, and what could be shared? */
static bool check(const struct dingo_map* map, void* arg) {
    struct walk* walk = arg;

    if (map->start > walk->covered || !map->readable || (walk->range->writable && !map->writable)) {
        return false;
    }
    walk->covered = map->end;
    if (walk->num_pieces < MAX_PIECES && !map->shared &&
        (map->inode == 0 || dingo_arena_inherited(map)) && !map->special && map->writable &&
        !(map->flags & DINGO_MAP_WIPEONFORK)) {
        walk->pieces[walk->num_pieces++] = *map;
    }
    return true;
}

static void convert(const struct walk* walk) {
    uint64_t first = (walk->range->va + PAGE - 1) & ~(PAGE - 1);
    uint64_t last = walk->end & ~(PAGE - 1);
    uint64_t stack = (uintptr_t)__builtin_frame_address(0);
    struct dingo_guard guard;
    int fd;

    if (first >= last || walk->num_pieces == 0 || !dingo_arena_ready()) {
        return;
    }
    dingo_arena_reap(false);
    fd = dingo_arena_fd();
    if (fd < 0 || !dingo_guard_open(&guard)) {
        return;
    }
    for (unsigned i = 0; i < walk->num_pieces; i++) {
        const struct dingo_map* map = &walk->pieces[i];
        uint64_t start = map->start > first ? map->start : first;
        uint64_t end = map->end < last ? map->end : last;
        struct dingo_slot* slot;

        /* a stack (of a thread: it has no name) that is just being used */
        if (start >= end || (map->start <= stack && stack < map->end)) {
            continue;
        }
        slot = dingo_arena_add(start, end - start);
        if (!slot) {
            break;
        }
        slot->length = dingo_convert(&guard, map, start, end, fd, slot->offset);
        if (slot->length == 0) {
            dingo_arena_drop_last();
        }
    }
    dingo_guard_close(&guard);
}

/* Second look: the mappings say what is shared, whatever we remember. */
static bool report(const struct dingo_map* map, void* arg) {
    struct walk* walk = arg;
    struct dingo_shared_range* range = walk->range;
    uint64_t first = range->va & ~(PAGE - 1);
    uint64_t last = (walk->end + PAGE - 1) & ~(PAGE - 1);
    uint64_t start = map->start > first ? map->start : first;
    uint64_t end = map->end < last ? map->end : last;

    if (!dingo_arena_owns(map) || start >= end) {
        return true;
    }
    if (range->num_segments == range->max_segments) {
        return false;
    }
    range->segments[range->num_segments++] = (struct dingo_uverbs_segment){
        .va = start, .length = end - start, .offset = map->offset + (start - map->start), .fd = 0};
    return true;
}

bool dingo_share(struct dingo_shared_range* range) {
    struct walk walk = {.range = range, .end = range->va + range->length, .covered = range->va};
    bool with_flags = dingo_advice_flags_used() || dingo_status_kb("VmLck:") > 0;
    uint64_t signals;
    bool whole;

    range->num_segments = 0;
    range->num_fds = 0;
    if (walk.end < range->va) {
        return false;
    }
    /* a vfork() child would share its parent's table */
    if (!dingo_fd_table_is_ours()) {
        return true;
    }
    dingo_arena_lock(&signals);
    whole =
        !dingo_maps_read(range->va, walk.end, with_flags, check, &walk) || walk.covered >= walk.end;
    if (whole) {
        convert(&walk);
        (void)dingo_maps_read(range->va, walk.end, false, report, &walk);
        if (range->num_segments > 0) {
            range->fds[range->num_fds++] = dingo_arena_fd();
        }
    }
    dingo_arena_unlock(&signals);
    return whole;
}
