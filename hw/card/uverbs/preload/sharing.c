/* SPDX-License-Identifier: BSD-2-Clause */
#include "sharing.h"

#include "maps.h"

struct walk {
    struct dingo_shared_range* range;
    uint64_t covered; /* up to here all is mapped as asked */
};

static bool check(const struct dingo_map* map, void* arg) {
    struct walk* walk = arg;

    if (map->start > walk->covered || !map->readable || (walk->range->writable && !map->writable)) {
        return false;
    }
    walk->covered = map->end;
    return true;
}

bool dingo_share(struct dingo_shared_range* range) {
    uint64_t end = range->va + range->length;
    struct walk walk = {.range = range, .covered = range->va};

    range->num_segments = 0;
    range->num_fds = 0;
    if (end < range->va) {
        return false;
    }
    return !dingo_maps_read(range->va, end, false, check, &walk) || walk.covered >= end;
}
