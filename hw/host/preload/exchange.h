/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends one message to the card and receives its answer, in the format of
 * hw/host/uverbs/protocol.h. Other files call the functions of request.h.
 */
#ifndef DINGO_PRELOAD_EXCHANGE_H
#define DINGO_PRELOAD_EXCHANGE_H

#include "arguments.h"
#include "gpu.h"
#include "request.h"
#include "sharing.h"

#define DINGO_ANY_FDS (DINGO_UVERBS_MAX_FDS - 1)

/* A request being sent, with everything besides the request's own fields. */
struct dingo_message {
    struct dingo_uverbs_request head;
    struct dingo_uverbs_segment segments[DINGO_UVERBS_MAX_SEGMENTS];
    int fds[DINGO_UVERBS_MAX_PIECES]; /* sent after the reply socket: as many with flag GPU, else
                                       * at most DINGO_ANY_FDS */
    unsigned num_fds;
    struct dingo_shared_range shared; /* source of the segments and descriptors */
    struct dingo_arguments arguments; /* their bytes are sent directly from the caller's memory */
    struct dingo_gpu_memory gpu;      /* with flag GPU */
};

/* Sends the message, waits for the answer, and stores results in the rooms of its arguments.
 * Returns 0 or -errno: -EIO if the card is gone or its answer is malformed, -EFAULT if a room
 * cannot be written. */
long dingo_exchange(int fd, struct dingo_message* message, const struct dingo_request* request,
                    struct dingo_answer* answer);

/* Drops fixups that lie neither in a room that the card may write nor in an attribute of an
 * ioctl that receives the number of a new object. */
void dingo_check_fixups(const struct dingo_message* message, const struct dingo_request* request,
                        struct dingo_answer* answer);

#endif
