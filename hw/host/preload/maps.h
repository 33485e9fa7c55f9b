/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory mappings of this process, read without libc's streams, as it is done inside madvise()
 * and fork(). Kernels since 6.11 answer for one address (PROCMAP_QUERY); on older ones
 * /proc/self/maps is read up to the end of the range.
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
    const char* name; /* path, [name] or ""; valid only during the callback */
    bool readable;
    bool writable;
    bool executable;
    bool shared;
    bool special; /* [stack], [vvar] ...: not heap memory */
    /* DINGO_MAP_*, only with `with_flags` */
    uint32_t flags;
};

#define DINGO_MAP_DONTFORK 1u
#define DINGO_MAP_LOCKED 2u
#define DINGO_MAP_WIPEONFORK 4u
#define DINGO_MAP_DONTDUMP 8u
#define DINGO_MAP_HUGEPAGE 16u
#define DINGO_MAP_NOHUGEPAGE 32u

/* Calls `each` for the mappings that overlap [start, end), in order, until it returns false.
 * With `with_flags` it reads /proc/self/smaps, which is slower. Returns false if /proc cannot be
 * read. */
bool dingo_maps_read(uint64_t start, uint64_t end, bool with_flags,
                     bool (*each)(const struct dingo_map* map, void* arg), void* arg);

/* Returns true if the kernel lacks PROCMAP_QUERY, so that the cost of a scan grows with the
 * number of mappings. */
bool dingo_maps_are_text(void);

/* Values of /proc/self/status in kB, 0 if missing. */
struct dingo_memory_status {
    uint64_t locked; /* mlock() */
    uint64_t pinned; /* pages pinned by a device or io_uring */
};
struct dingo_memory_status dingo_memory_status(void);

#endif
