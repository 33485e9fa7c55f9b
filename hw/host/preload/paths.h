/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What paths mean to the application: /dev/infiniband, /dev/rdma_cm, /sys/class/infiniband* and
 * /sys/class/misc/rdma_cm are those of the view (DINGO_VIEW), everything else is as it is.
 */
#ifndef DINGO_PRELOAD_PATHS_H
#define DINGO_PRELOAD_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The view's directory, or NULL: this library does nothing. */
const char* dingo_view(void);

/* libibverbs only finds no device where the view cannot be reached: says why, once, on stderr. */
void dingo_explain_view(void);

/*
 * Returns `path` itself, or, in `buffer`, the path that it stands for. NULL with errno
 * ENAMETOOLONG.
 */
const char* dingo_rewrite(const char* path, char buffer[PATH_MAX]);

/* As openat() and its like see it: `path` is relative to `dirfd`. */
const char* dingo_rewrite_at(int dirfd, const char* path, char buffer[PATH_MAX]);

#define DINGO_RDMA_CM_NUMBER 0x100000 /* larger than that of a uverbs device */

/* N of a rewritten path that ends in /dev/infiniband/uverbsN, DINGO_RDMA_CM_NUMBER of one that ends
 * in /dev/infiniband/rdma_cm, else -1. */
int dingo_device_number(const char* rewritten);

/* The path leads to a sysfs file whose content changes. */
bool dingo_is_counter(const char* path);
/* Or to another that is not a plain file in the kernel's sysfs. */
bool dingo_is_dynamic(const char* path);

/* chdir() went to an absolute path, which was rewritten or not. */
void dingo_cwd_changed(bool in_view);
/* Relative paths may be a view's: chdir() went there, or the program began there. */
bool dingo_cwd_in_view(void);

#endif
