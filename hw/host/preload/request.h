/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request to the card and its answer (hw/host/uverbs/protocol.h).
 */
#ifndef DINGO_PRELOAD_REQUEST_H
#define DINGO_PRELOAD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/uverbs/protocol.h"

struct dingo_request {
    uint32_t type;
    uint64_t arg;
    uint64_t arg2;
    uint32_t flags;
    const void* payload; /* for an ioctl a copy of the memory at `arg` */
    size_t payload_len;
};

struct dingo_answer {
    struct dingo_uverbs_reply reply;
    struct dingo_uverbs_fixup fixups[DINGO_UVERBS_MAX_FDS];
    int fds[DINGO_UVERBS_MAX_FDS]; /* owned by the caller, close-on-exec; -1: taken */
    unsigned num_fds;
};

/* Sends the request on connection `fd` and waits for its answer. Sends HELLO first if this
 * process has not done so, and shares memory or passes descriptors if the card asks for them.
 * Returns the answer's result or -errno: -EIO if the card is gone, -ENOTSOCK if `fd` is not a
 * connection. */
long dingo_request(int fd, const struct dingo_request* request, struct dingo_answer* answer);

/* The same, and passes a copy of descriptor `carried`. */
long dingo_request_with(int fd, const struct dingo_request* request, int carried,
                        struct dingo_answer* answer);

/* The same on a connection that needs no introduction: no HELLO, no memory. */
long dingo_request_plain(int fd, const struct dingo_request* request, struct dingo_answer* answer);

/* Sends HELLO, unless this process has sent it on this connection. With `memory`, a card of our
 * own user may access all memory of this process. Returns 0 or -errno; sets *rdev if HELLO was
 * sent. */
int dingo_hello(int fd, bool memory, uint32_t* rdev);

/* Connects to the socket at `path`; flags: O_CLOEXEC or 0. Returns a descriptor or -errno. */
int dingo_connect(const char* path, int flags);

/* Closes the descriptors that were not taken. */
void dingo_answer_close(struct dingo_answer* answer);

#endif
