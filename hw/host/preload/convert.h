/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns private memory into shared memory while the application runs.
 */
#ifndef DINGO_PRELOAD_CONVERT_H
#define DINGO_PRELOAD_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "maps.h"

/* Blocks the writes of other threads during a conversion. */
struct dingo_guard {
    int uffd; /* -1: the process has no other threads */
    bool protects_missing;
    int pagemap; /* /proc/self/pagemap, tells which pages were never touched; -1: unknown */
};

/* Returns false if other threads exist and cannot be blocked. */
bool dingo_guard_open(struct dingo_guard* guard);
void dingo_guard_close(struct dingo_guard* guard);

/* Moves [start, end), whole pages of the private anonymous mapping `map`, to `offset` in file
 * `fd`. Returns the number of bytes moved, counted from `start`. */
uint64_t dingo_convert(const struct dingo_guard* guard, const struct dingo_map* map, uint64_t start,
                       uint64_t end, int fd, uint64_t offset);

#endif
