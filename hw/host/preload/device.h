/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uverbs and rdma_cm devices of the view: open() and the system calls on the descriptor.
 */
#ifndef DINGO_PRELOAD_DEVICE_H
#define DINGO_PRELOAD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Opens device `number` at the rewritten path `path` (paths.h). Returns a descriptor or -errno. */
int dingo_device_open(const char* path, int number, int flags);

/* Called after `fd` was opened for reading. If the file is a counter of a card, replaces `fd` by
 * a file with the current value. */
void dingo_device_refresh(int fd);

/* Returns true if `fd` is a socket that leads to a card but was not opened through this library:
 * received by SCM_RIGHTS or inherited by exec(). Such a descriptor is tracked from then on. */
bool dingo_device_adopt(int fd);

/* Returns false, and forgets `fd`, if the number belongs to another file, because the application
 * closed the descriptor in a way that was not intercepted. `fd` is of an application's kind. */
bool dingo_device_is_open(int fd);

/* Returns the device number of uverbsN or rdma_cm. */
dev_t dingo_device_rdev(unsigned number);

/* Makes stat() show the socket of a device as a character device. */
void dingo_device_show(struct stat* st, dev_t rdev);
void dingo_device_show_statx(struct statx* st, dev_t rdev);

#endif
