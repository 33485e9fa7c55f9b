/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: memory of this process that the card maps, too (docs/reference/kernel-less.md).
 */
#ifndef DINGO_PRELOAD_SHARING_H
#define DINGO_PRELOAD_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/uverbs/protocol.h"

struct dingo_shared_range {
    uint64_t va;
    uint64_t length;
    bool writable;
    struct dingo_uverbs_segment* segments;
    uint32_t max_segments;
    uint32_t num_segments;
    int* fds; /* the segments' fd are indices here */
    unsigned max_fds;
    unsigned num_fds;
    unsigned num_opened; /* the first ones, dingo_shared_close() */
};

/* Shares what can be shared of the range, with all its pages. -EFAULT: part of it is not mapped, or
 * not as asked; or what the kernel says when it has no pages. What cannot be shared is not an
 * error: the card goes the slow path there. */
int dingo_share(struct dingo_shared_range* range);
/* When the card has its copies of the descriptors. */
void dingo_shared_close(struct dingo_shared_range* range);

#endif
