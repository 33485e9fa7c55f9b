/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Path rewriting: /dev/infiniband, /dev/rdma_cm, /sys/class/infiniband* and /sys/class/misc/rdma_cm
 * lead to the view (DINGO_VIEW), all other paths stay unchanged.
 */
#ifndef DINGO_PRELOAD_PATHS_H
#define DINGO_PRELOAD_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The view's directory. NULL disables this library. */
const char* dingo_view(void);

/* Prints to stderr, once, why the view cannot be reached; libibverbs would only report that it
 * found no device. */
void dingo_explain_view(void);

/*
 * Returns `path` itself, or the path that replaces it, in `buffer`. Returns NULL with errno
 * ENAMETOOLONG if it does not fit.
 */
const char* dingo_rewrite(const char* path, char buffer[PATH_MAX]);

/* The same for openat() and similar calls: `path` is relative to `dirfd`. */
const char* dingo_rewrite_at(int dirfd, const char* path, char buffer[PATH_MAX]);

#define DINGO_RDMA_CM_NUMBER 0x100000 /* larger than any uverbs device number */

/* Returns N if the rewritten path ends in /dev/infiniband/uverbsN, DINGO_RDMA_CM_NUMBER if it
 * ends in /dev/infiniband/rdma_cm, else -1. */
int dingo_device_number(const char* rewritten);

/* Returns true if the path leads to a sysfs file whose content changes. */
bool dingo_is_counter(const char* path);
/* Returns true for a counter or another sysfs file that cannot be served as a plain file. */
bool dingo_is_dynamic(const char* path);

/* Records whether chdir() to an absolute path entered the view. */
void dingo_cwd_changed(bool in_view);
/* Returns true if relative paths may lead into the view: chdir() went there, or the program was
 * started there. */
bool dingo_cwd_in_view(void);

#endif
