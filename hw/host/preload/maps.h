/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mappings of this process, without libc's streams: they are looked at inside madvise() and
 * fork(). Kernels since 6.11 answer for an address (PROCMAP_QUERY); with others /proc/self/maps is
 * read up to the range's end.
 */
#ifndef DINGO_PRELOAD_MAPS_H
#define DINGO_PRELOAD_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct dingo_map {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t inode; /* 0: anonymous */
    uint32_t dev_major, dev_minor;
    const char* name; /* path or [name], "" where there is none; only during the call */
    bool readable;
    bool writable;
    bool executable;
    bool shared;
    bool special; /* [stack], [vvar] ...: no memory of the heap */
    /* with flags read, DINGO_MAP_* */
    uint32_t flags;
};

#define DINGO_MAP_DONTFORK 1u
#define DINGO_MAP_LOCKED 2u
#define DINGO_MAP_WIPEONFORK 4u
#define DINGO_MAP_DONTDUMP 8u
#define DINGO_MAP_HUGEPAGE 16u
#define DINGO_MAP_NOHUGEPAGE 32u

/* Calls `each` for the mappings that overlap [start, end), in order, until it says false. With
 * `with_flags` /proc/self/smaps is read, which takes longer. False: /proc cannot be read. */
bool dingo_maps_read(uint64_t start, uint64_t end, bool with_flags,
                     bool (*each)(const struct dingo_map* map, void* arg), void* arg);

/* Whether a kernel without PROCMAP_QUERY was met: each look costs as much as there are mappings. */
bool dingo_maps_are_text(void);

/* What /proc/self/status says of memory, in kB; 0 where it says nothing. */
struct dingo_memory_status {
    uint64_t locked; /* mlock() */
    uint64_t pinned; /* pages that a device or io_uring holds on to */
};
struct dingo_memory_status dingo_memory_status(void);

#endif
