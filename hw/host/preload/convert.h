/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private memory becomes shared memory, under the eyes of a running application.
 */
#ifndef DINGO_PRELOAD_CONVERT_H
#define DINGO_PRELOAD_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

/* How other threads are held off meanwhile. */
struct dingo_guard {
    int uffd; /* -1: there are none */
    bool protects_missing;
    int pagemap; /* tells which pages were never touched; -1: not known */
};

/* False: there are other threads, and no way to hold them off. */
bool dingo_guard_open(struct dingo_guard* guard);
void dingo_guard_close(struct dingo_guard* guard);

/* [start, end), whole pages of the private anonymous mapping `map`, move to offset `offset` of file
 * `fd`. Returns how many bytes did, from the start. */
uint64_t dingo_convert(const struct dingo_guard* guard, const struct dingo_map* map, uint64_t start,
                       uint64_t end, int fd, uint64_t offset);

#endif
