/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One message to the card and its answer, as hw/host/uverbs/protocol.h has them. request.h is what
 * others call.
 */
#ifndef DINGO_PRELOAD_EXCHANGE_H
#define DINGO_PRELOAD_EXCHANGE_H

#include "arguments.h"
#include "gpu.h"
#include "request.h"
#include "sharing.h"

#define DINGO_ANY_FDS (DINGO_UVERBS_MAX_FDS - 1)

/* A request on its way: what is sent besides its own fields. */
struct dingo_message {
    struct dingo_uverbs_request head;
    struct dingo_uverbs_segment segments[DINGO_UVERBS_MAX_SEGMENTS];
    int fds[DINGO_UVERBS_MAX_PIECES]; /* after the reply socket; with flag GPU that many, else
                                       * DINGO_ANY_FDS at most */
    unsigned num_fds;
    struct dingo_shared_range shared; /* where the segments and descriptors are from */
    struct dingo_arguments arguments; /* their bytes are sent from where they are */
    struct dingo_gpu_memory gpu;      /* with flag GPU */
};

/* Sends the message and waits for the answer; results are stored in the rooms of its arguments.
 * 0 or -errno: -EIO the card is gone or answers nonsense, -EFAULT a room cannot be written. */
long dingo_exchange(int fd, struct dingo_message* message, const struct dingo_request* request,
                    struct dingo_answer* answer);

/* A number is stored where the card may write, or as that of a new object in an attribute of an
 * ioctl; elsewhere it is left out. */
void dingo_check_fixups(const struct dingo_message* message, const struct dingo_request* request,
                        struct dingo_answer* answer);

#endif
