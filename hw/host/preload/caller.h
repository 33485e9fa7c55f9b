/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The caller's memory, which the kernel reads and writes for us: an address that is none is
 * -EFAULT, as in a system call.
 */
#ifndef DINGO_PRELOAD_CALLER_H
#define DINGO_PRELOAD_CALLER_H

#include <stddef.h>

#include "arguments.h"

long dingo_copy_from(void* to, const void* from, size_t length);
long dingo_copy_to(void* to, const void* from, size_t length);

/* Whether answers can be written to all rooms, before the card carries the request out: 0 or
 * -EFAULT. */
long dingo_check_rooms(const struct dingo_arguments* arguments);

#endif
