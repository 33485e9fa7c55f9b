/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write() on a descriptor of /dev/infiniband/rdma_cm.
 */
#ifndef DINGO_PRELOAD_RDMA_CM_H
#define DINGO_PRELOAD_RDMA_CM_H

#include <stddef.h>

/* A connection to the card behind `path`, or to the next of the view that answers; *card: which
 * one. A descriptor or -errno. */
int dingo_rdma_cm_connect(const char* path, int flags, unsigned* card);

/* The view's other cards join the connection `fd` to `card`. */
void dingo_rdma_cm_join(int fd, unsigned card);

/* Its result, or -errno. GET_EVENT waits for an event as the descriptor's O_NONBLOCK says. */
long dingo_rdma_cm_write(int fd, const void* data, size_t bytes);

#endif
