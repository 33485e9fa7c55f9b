/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to the caller's memory through the kernel: an invalid address gives -EFAULT, as in a
 * system call.
 */
#ifndef DINGO_PRELOAD_CALLER_H
#define DINGO_PRELOAD_CALLER_H

#include <stddef.h>

#include "arguments.h"

long dingo_copy_from(void* to, const void* from, size_t length);
long dingo_copy_to(void* to, const void* from, size_t length);

/* Checks that all rooms for answers are writable, before the card executes the request. Returns
 * 0 or -EFAULT. */
long dingo_check_rooms(const struct dingo_arguments* arguments);

#endif
