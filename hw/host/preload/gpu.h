/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of an NVIDIA GPU that the application registers. The application's own libcuda provides
 * the handle that lets another process open it (docs/reference/gpu.md).
 */
#ifndef DINGO_PRELOAD_GPU_H
#define DINGO_PRELOAD_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "host/uverbs/protocol.h"

enum dingo_gpu_answer {
    DINGO_GPU_NONE,   /* not memory of a GPU */
    DINGO_GPU_FOUND,  /* the handle is in struct dingo_gpu_memory */
    DINGO_GPU_SECRET, /* memory of a GPU that cannot be exported to another process; the reason
                       * was printed */
};

struct dingo_gpu_memory {
    struct dingo_uverbs_gpu handle;
    uint64_t pieces[DINGO_UVERBS_MAX_PIECES]; /* size of each allocation in bytes,
                                               * handle.num_pieces entries */
    int fds[DINGO_UVERBS_MAX_PIECES];         /* with GPU_DESCRIPTOR; the caller closes them */
    uint32_t num_fds;
};

void dingo_gpu_close(struct dingo_gpu_memory* memory);

/* Determines what memory [va, va + length) is. Calls the CUDA driver, which takes its own locks:
 * call it without holding a lock of this library. */
enum dingo_gpu_answer dingo_gpu_find(uint64_t va, uint64_t length, struct dingo_gpu_memory* memory);

/* The same for a registration of DMABuf `fd`, in which the range begins at `offset`. Returns
 * NONE for a DMABuf of another exporter. */
enum dingo_gpu_answer dingo_gpu_find_dmabuf(int fd, uint64_t offset, uint64_t va, uint64_t length,
                                            struct dingo_gpu_memory* memory);

/* Prints a line to stderr, once: the card could not open the memory. */
void dingo_gpu_say_refused(long error);

#endif
