/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trainer's side: batches of click records land in two alternating buffers of this process, and
 * are seen as tensors. docs/dlrm.md. Calls for one feed must not be made from two threads at once;
 * deleters of tensors may run in any thread, and after dlrm_feed_close().
 *
 * A function that returns int gives 0 or more, or minus an errno; dlrm_feed_error() has the words.
 */
#ifndef DLRM_FEED_H
#define DLRM_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "dlrm/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DLRM_API __attribute__((visibility("default")))

struct dlrm_feed;

struct dlrm_feed_options {
    size_t struct_size;   /* sizeof this */
    const char* device;   /* RDMA device; NULL: the first */
    const char* memory;   /* as --mem of rdma-bench: "host", "cuda:0"; NULL: host */
    const char* address;  /* to listen on; NULL: all */
    const char* security; /* as --security of rdma-bench; NULL: none */
    uint32_t records;     /* room of each buffer: the largest batch */
    uint32_t modulus;     /* the card preprocesses with it what lands; 0: it leaves it alone */
    uint64_t first_batch; /* number of the batch to begin with: behind a checkpoint */
    int32_t timeout_ms;   /* longest time that dlrm_feed_next() waits; negative: for ever */
    uint16_t port;        /* TCP port of the exchange; 0: any */
    uint16_t reserved;    /* 0 */
};

struct dlrm_batch {
    uint64_t number;
    uint64_t address; /* of the first record, as this process or its GPU sees it */
    uint32_t records;
    uint32_t half; /* 0 or 1: which buffer */
};

/* Columns of a batch. Labels and categories are int32, integers are float32. */
enum dlrm_columns { DLRM_LABEL = 0, DLRM_DENSE = 1, DLRM_SPARSE = 2 };

/*
 * Registers the buffers and listens; no storage process need be there.
 * @feed: the result, for dlrm_feed_close().
 * Returns 0; -EINVAL: an option; -EOPNOTSUPP: a modulus, and the card has no compute slot to
 * receive through; -ENODEV, -EADDRINUSE and others: device, memory, port.
 */
DLRM_API int dlrm_feed_open(const struct dlrm_feed_options* options, struct dlrm_feed** feed);

/* The TCP port that it listens on. */
DLRM_API uint16_t dlrm_feed_port(const struct dlrm_feed* feed);

/*
 * Waits for the next batch, for a storage process if there is none, and for another one when it
 * goes away: each batch comes once and in order, whatever happened to the sender.
 * Returns 1 with a batch; 0: there are no more; -EBUSY: both buffers are in use; -ETIMEDOUT: try
 * again; else the feed is of no more use.
 */
DLRM_API int dlrm_feed_next(struct dlrm_feed* feed, struct dlrm_batch* batch);

/*
 * A view of columns of a batch that was not released, without a copy.
 * @tensor: (records) or (records, columns), with the strides of the records. Its deleter must be
 * called.
 * Returns 0, -EINVAL, -ENOMEM.
 */
DLRM_API int dlrm_feed_tensor(struct dlrm_feed* feed, const struct dlrm_batch* batch,
                              enum dlrm_columns columns, struct dlpack_managed** tensor);

/*
 * Copies a batch's records, as they have landed, to the host: for checks, where memory is a GPU's.
 * @to: room for all of them, 192 bytes each.
 * Returns 0, -EINVAL, or -EIO when the GPU's driver fails.
 */
DLRM_API int dlrm_feed_copy(struct dlrm_feed* feed, const struct dlrm_batch* batch, void* to);

/*
 * The batch's buffer may be overwritten. Batches are released in the order in which they came.
 * Returns 0; -EBUSY: somebody still has a tensor of it; -EINVAL: it is not the oldest one.
 */
DLRM_API int dlrm_feed_release(struct dlrm_feed* feed, const struct dlrm_batch* batch);

/* How often a storage process was connected. */
DLRM_API uint64_t dlrm_feed_sessions(const struct dlrm_feed* feed);

/* Frees; NULL is ignored. Memory that tensors look at stays until their deleters ran. */
DLRM_API void dlrm_feed_close(struct dlrm_feed* feed);

/* What the last failed call of this thread was about. Never NULL. */
DLRM_API const char* dlrm_feed_error(void);

#ifdef __cplusplus
}
#endif

#endif
