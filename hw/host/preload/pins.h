/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory whose pages a GPU's driver holds on to (cuMemHostRegister, hipHostRegister): other pages
 * at the same address would be memory that the GPU does not see.
 */
#ifndef DINGO_PRELOAD_PINS_H
#define DINGO_PRELOAD_PINS_H

#include <stdbool.h>
#include <stdint.h>

/* Both call the dynamic linker or the driver, which have locks of their own: none of ours may be
 * held. */

/* Whether a GPU's runtime is loaded at all. Loads nothing. */
bool dingo_pins_possible(void);

/* The end of the pinned pages that begin at page `at`, `at` itself where they are not pinned. */
uint64_t dingo_pins_end(uint64_t at);

#endif
