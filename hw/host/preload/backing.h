/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files behind shared mappings (/dev/shm, memfd): a region keeps its memory when the mapping
 * goes, so the card gets a descriptor.
 */
#ifndef DINGO_PRELOAD_BACKING_H
#define DINGO_PRELOAD_BACKING_H

#include <stdbool.h>

#include "maps.h"

/* Whether `map` may be of a file that can be handed over: tmpfs. */
bool dingo_backing_possible(const struct dingo_map* map);

/* A descriptor of the file behind `map`, for reading, or for both; -1: none can be opened. */
int dingo_backing_open(const struct dingo_map* map, bool writable);
/* When the card has its copy. */
void dingo_backing_close(int fd);

#endif
