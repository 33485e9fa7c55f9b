/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of an NVIDIA GPU that the application registers: what another process needs to open it,
 * as the application's own libcuda tells it (docs/reference/gpu.md).
 */
#ifndef DINGO_PRELOAD_GPU_H
#define DINGO_PRELOAD_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "host/uverbs/protocol.h"

enum dingo_gpu_answer {
    DINGO_GPU_NONE,   /* it is no memory of a GPU */
    DINGO_GPU_FOUND,  /* here is what the card needs */
    DINGO_GPU_SECRET, /* it is, but no other process can have it; a line on stderr has said why */
};

struct dingo_gpu_memory {
    struct dingo_uverbs_gpu handle;
    uint64_t pieces[DINGO_UVERBS_MAX_PIECES]; /* bytes of each allocation, handle.num_pieces */
    int fds[DINGO_UVERBS_MAX_PIECES];         /* GPU_DESCRIPTOR: the caller closes them */
    uint32_t num_fds;
};

void dingo_gpu_close(struct dingo_gpu_memory* memory);

/* What [va, va + length) is. Calls the driver, which has locks of its own: hold none of ours. */
enum dingo_gpu_answer dingo_gpu_find(uint64_t va, uint64_t length, struct dingo_gpu_memory* memory);

/* The same where descriptor `fd` is registered, and the range would begin `offset` bytes into it.
 * NONE: it is a DMABuf of something else. */
enum dingo_gpu_answer dingo_gpu_find_dmabuf(int fd, uint64_t offset, uint64_t va, uint64_t length,
                                            struct dingo_gpu_memory* memory);

/* The card could not open what it was given: a line on stderr, once. */
void dingo_gpu_say_refused(long error);

#endif
