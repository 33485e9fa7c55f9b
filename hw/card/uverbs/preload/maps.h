/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/self/maps, without libc's streams: it is read inside madvise() and fork().
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

/* A number of /proc/self/status in kB ("VmLck:"), 0 where there is none. */
uint64_t dingo_status_kb(const char* name);

#endif
