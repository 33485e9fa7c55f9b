/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: shares memory of this process with the card (docs/reference/kernel-less.md).
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
    int* fds; /* the segments' `fd` are indices into this array */
    unsigned max_fds;
    unsigned num_fds;
    unsigned num_opened; /* the first `num_opened` of fds, closed by dingo_shared_close() */
};

/* Shares as much of the range as possible and populates its pages. Returns -EFAULT if part of it
 * is not mapped or lacks the requested access, or the kernel's error if pages cannot be
 * allocated. Memory that cannot be shared is not an error: the card takes the slow path there. */
int dingo_share(struct dingo_shared_range* range);
/* Closes the descriptors after the card has received its copies. */
void dingo_shared_close(struct dingo_shared_range* range);

#endif
