/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What paths mean to the application: /dev/infiniband and /sys/class/infiniband* are those of the
 * view (DINGO_VIEW), everything else is as it is.
 */
#ifndef DINGO_PRELOAD_PATHS_H
#define DINGO_PRELOAD_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The view's directory, or NULL: this library does nothing. */
const char* dingo_view(void);

/* `path` itself, or what it stands for, in `buffer`. NULL with errno ENAMETOOLONG. */
const char* dingo_rewrite(const char* path, char buffer[PATH_MAX]);

/* As openat() and its like see it: `path` is relative to `dirfd`. */
const char* dingo_rewrite_at(int dirfd, const char* path, char buffer[PATH_MAX]);

/* N of a rewritten path that ends in /dev/infiniband/uverbsN, else -1. */
int dingo_uverbs_number(const char* rewritten);

/* The path leads to a sysfs file whose content changes. */
bool dingo_is_counter(const char* path);
/* Or to another that is not a plain file in the kernel's sysfs. */
bool dingo_is_dynamic(const char* path);

/* chdir() went to a rewritten directory: relative paths may be a view's. */
void dingo_cwd_changed(bool in_view);
bool dingo_cwd_in_view(void);

#endif
