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
    const void* payload; /* of an ioctl a copy of what is at `arg` */
    size_t payload_len;
};

struct dingo_answer {
    struct dingo_uverbs_reply reply;
    struct dingo_uverbs_fixup fixups[DINGO_UVERBS_MAX_FDS];
    int fds[DINGO_UVERBS_MAX_FDS]; /* the caller's now, close-on-exec; -1: taken */
    unsigned num_fds;
};

/* Sends the request on connection `fd` and waits for its answer; introduces this process first
 * where that was not done yet, and shares memory or hands descriptors over where the card asks for
 * it. Returns the answer's result, or -errno: -EIO the card is gone, -ENOTSOCK `fd` is no
 * connection. */
long dingo_request(int fd, const struct dingo_request* request, struct dingo_answer* answer);

/* The same, with a copy of descriptor `carried`. */
long dingo_request_with(int fd, const struct dingo_request* request, int carried,
                        struct dingo_answer* answer);

/* The same on a connection that needs no introduction: no HELLO, no memory. */
long dingo_request_plain(int fd, const struct dingo_request* request, struct dingo_answer* answer);

/* HELLO, unless this process has said it on this connection. `memory`: a card of ours may reach all
 * of this process's. 0 or -errno; *rdev when it was said. */
int dingo_hello(int fd, bool memory, uint32_t* rdev);

/* A connection to the socket at `path` with O_CLOEXEC or 0 in flags, or -errno. */
int dingo_connect(const char* path, int flags);

/* Closes the descriptors that were not taken. */
void dingo_answer_close(struct dingo_answer* answer);

#endif
