/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the provider of memory that the program unmaps, moves or protects: what it has registered
 * there its card has still, but the provider has it no longer (provider/direct_local.c).
 */
#ifndef DINGO_PRELOAD_MOVES_H
#define DINGO_PRELOAD_MOVES_H

#include <stddef.h>
#include <stdint.h>

/* Before the memory goes. Takes no lock of ours; a forked child has nobody to tell. */
void dingo_tell_move(uintptr_t start, size_t length);

#endif
