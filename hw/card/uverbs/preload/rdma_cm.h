/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write() on a descriptor of /dev/infiniband/rdma_cm.
 */
#ifndef DINGO_PRELOAD_RDMA_CM_H
#define DINGO_PRELOAD_RDMA_CM_H

#include <stddef.h>

/* Its result, or -errno. GET_EVENT waits for an event as the descriptor's O_NONBLOCK says. */
long dingo_rdma_cm_write(int fd, const void* data, size_t bytes);

#endif
