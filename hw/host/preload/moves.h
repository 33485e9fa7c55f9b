/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the provider about memory that the program unmaps, moves or protects. The card still has
 * what was registered there, but the provider can no longer access it (provider/direct_local.c).
 */
#ifndef DINGO_PRELOAD_MOVES_H
#define DINGO_PRELOAD_MOVES_H

#include <stddef.h>
#include <stdint.h>

/* Called before the mapping changes. Takes no lock of this library; does nothing in a vfork()
 * child. */
void dingo_tell_move(uintptr_t start, size_t length);

#endif
