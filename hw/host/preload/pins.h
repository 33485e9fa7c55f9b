/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory whose pages a GPU's driver has pinned (cuMemHostRegister, hipHostRegister). Such pages
 * must not be replaced: the GPU would not see the new ones.
 */
#ifndef DINGO_PRELOAD_PINS_H
#define DINGO_PRELOAD_PINS_H

#include <stdbool.h>
#include <stdint.h>

/* Both call the dynamic linker or the driver, which take locks of their own: call them without
 * holding any lock of ours. */

/* Whether a GPU's runtime is loaded at all. Loads nothing. */
bool dingo_pins_possible(void);

/* The end of the pinned pages that begin at page `at`, `at` itself where they are not pinned. */
uint64_t dingo_pins_end(uint64_t at);

#endif
