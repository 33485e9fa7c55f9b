/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trainer's side: batches of click records are written to two alternating buffers of this
 * process and presented as tensors. docs/dlrm.md. A feed is not thread-safe; deleters of tensors
 * may run in any thread, also after dlrm_feed_close().
 *
 * A function that returns int returns 0 or more, or a negative errno; dlrm_feed_error() has the
 * text.
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
    size_t struct_size;   /* sizeof(struct dlrm_feed_options) */
    const char* device;   /* RDMA device; NULL: the first */
    const char* memory;   /* as --mem of rdma-bench: "host", "cuda:0"; NULL: host */
    const char* address;  /* to listen on; NULL: all */
    const char* security; /* as --security of rdma-bench; NULL: none */
    uint32_t records;     /* capacity of each buffer: the largest batch */
    uint32_t modulus;     /* modulus of the card's preprocessing on receive; 0: none */
    uint64_t first_batch; /* number of the first batch, e.g. after a checkpoint */
    int32_t timeout_ms;   /* timeout of dlrm_feed_next(); negative: none */
    uint16_t port;        /* TCP port of the exchange; 0: any */
    uint16_t reserved;    /* 0 */
};

struct dlrm_batch {
    uint64_t number;
    uint64_t address; /* of the first record, in this process or its GPU */
    uint32_t records;
    uint32_t half; /* number of the buffer, 0 or 1 */
};

/* Columns of a batch. Labels and categories are int32, integers are float32. */
enum dlrm_columns { DLRM_LABEL = 0, DLRM_DENSE = 1, DLRM_SPARSE = 2 };

/*
 * Registers the buffers and listens; does not need a storage process yet.
 * @feed: the result, to be closed by dlrm_feed_close().
 * Returns 0; -EINVAL: invalid option; -EOPNOTSUPP: a modulus, but the card has no compute slot for
 * receives; -ENODEV, -EADDRINUSE and others: device, memory, port.
 */
DLRM_API int dlrm_feed_open(const struct dlrm_feed_options* options, struct dlrm_feed** feed);

/* Returns the TCP port of the feed. */
DLRM_API uint16_t dlrm_feed_port(const struct dlrm_feed* feed);

/*
 * Waits for the next batch, and for a storage process if there is none or it is lost: each batch
 * arrives once and in order, even if the storage process restarts.
 * Returns 1 with a batch; 0: no more batches; -EBUSY: both buffers are in use; -ETIMEDOUT: try
 * again; after other errors the feed is unusable.
 */
DLRM_API int dlrm_feed_next(struct dlrm_feed* feed, struct dlrm_batch* batch);

/*
 * Returns a view of columns of an unreleased batch, without a copy.
 * @tensor: (records) or (records, columns), with the strides of the records. Its deleter must be
 * called.
 * Returns 0, -EINVAL, -ENOMEM.
 */
DLRM_API int dlrm_feed_tensor(struct dlrm_feed* feed, const struct dlrm_batch* batch,
                              enum dlrm_columns columns, struct dlpack_managed** tensor);

/*
 * Copies a batch's received records to the host, for checks of GPU memory.
 * @to: room for all records, 192 bytes each.
 * Returns 0, -EINVAL, or -EIO if the GPU's driver fails.
 */
DLRM_API int dlrm_feed_copy(struct dlrm_feed* feed, const struct dlrm_batch* batch, void* to);

/*
 * Allows the batch's buffer to be overwritten. Batches must be released in order. In GPU memory it
 * first waits for all work that the program has queued on that GPU, in its primary context, as
 * kernels may still read the batch; no stream may be captured meanwhile.
 * Returns 0; -EBUSY: a tensor of the batch still exists; -EINVAL: it is not the oldest one; -EIO:
 * work on the GPU has failed, and the batch is not released.
 */
DLRM_API int dlrm_feed_release(struct dlrm_feed* feed, const struct dlrm_batch* batch);

/* Returns how many times a storage process has connected. */
DLRM_API uint64_t dlrm_feed_sessions(const struct dlrm_feed* feed);

/* Frees the feed; NULL is ignored. Memory of tensors stays until their deleters have run. */
DLRM_API void dlrm_feed_close(struct dlrm_feed* feed);

/* Returns the error text of this thread's last failed call. Never NULL. */
DLRM_API const char* dlrm_feed_error(void);

#ifdef __cplusplus
}
#endif

#endif
