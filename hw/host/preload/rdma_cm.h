/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write() on a descriptor of /dev/infiniband/rdma_cm.
 */
#ifndef DINGO_PRELOAD_RDMA_CM_H
#define DINGO_PRELOAD_RDMA_CM_H

#include <stddef.h>

/* Connects to the card behind `path`, or to the next card of the view that answers, and sets
 * *card to its index. Returns a descriptor or -errno. */
int dingo_rdma_cm_connect(const char* path, int flags, unsigned* card);

/* Adds the view's other cards to connection `fd` of `card`. */
void dingo_rdma_cm_join(int fd, unsigned card);

/* Returns the command's result or -errno. GET_EVENT waits for an event unless the descriptor has
 * O_NONBLOCK. */
long dingo_rdma_cm_write(int fd, const void* data, size_t bytes);

#endif
