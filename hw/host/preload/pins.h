/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Detects memory whose pages a GPU driver has pinned (cuMemHostRegister, hipHostRegister). Such
 * pages must not be replaced: the GPU would still access the old ones.
 */
#ifndef DINGO_PRELOAD_PINS_H
#define DINGO_PRELOAD_PINS_H

#include <stdbool.h>
#include <stdint.h>

/* Both functions call the dynamic linker or the GPU driver, which take their own locks: call
 * them without holding a lock of this library. */

/* Returns true if a GPU runtime is loaded. Loads nothing. */
bool dingo_pins_possible(void);

/* Returns the end of the pinned pages that begin at page `at`, or `at` itself if that page is
 * not pinned. A pinned range that lies inside the page is found only `closely`, with 65 calls of
 * the driver instead of two, and only if it contains a multiple of 64. */
uint64_t dingo_pins_end(uint64_t at, bool closely);

#endif
