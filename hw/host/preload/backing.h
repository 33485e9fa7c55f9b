/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the files behind shared mappings (/dev/shm, memfd). A region must keep its memory after
 * munmap(), so the card gets a descriptor of the file.
 */
#ifndef DINGO_PRELOAD_BACKING_H
#define DINGO_PRELOAD_BACKING_H

#include <stdbool.h>

#include "maps.h"

/* Returns true if the file behind `map` may be on tmpfs, so that a descriptor can be passed. */
bool dingo_backing_possible(const struct dingo_map* map);

/* Opens the file behind `map` for reading, or for reading and writing. Returns -1 if it cannot
 * be opened. */
int dingo_backing_open(const struct dingo_map* map, bool writable);
/* Closes `fd` after the card has received its copy. */
void dingo_backing_close(int fd);

#endif
