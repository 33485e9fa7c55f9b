/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A uverbs or rdma_cm device of the view: what open() of it gives, and its system calls.
 */
#ifndef DINGO_PRELOAD_DEVICE_H
#define DINGO_PRELOAD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* open() of the rewritten path `path`, device `number` (paths.h). A descriptor or -errno. */
int dingo_device_open(const char* path, int number, int flags);

/* The file at `fd` was opened for reading: when it is a counter of a card, `fd` becomes its present
 * value. */
void dingo_device_refresh(int fd);

/* Whether `fd`, a socket that was not opened through this library, leads to a card: it came from
 * another process, by SCM_RIGHTS or exec. If so, it is known from here on. */
bool dingo_device_adopt(int fd);

/* Device number of uverbsN, or of rdma_cm. */
dev_t dingo_device_rdev(unsigned number);

/* What stat() shows of a socket that plays a character device. */
void dingo_device_show(struct stat* st, dev_t rdev);
void dingo_device_show_statx(struct statx* st, dev_t rdev);

#endif
