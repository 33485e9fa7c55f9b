/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cards of other users (dingo run --trust-owner). Such a card does not get /proc/self/mem: the
 * arguments of a request are copied into a file in memory that it has instead, and of what it
 * answers only what the request has room for comes back. It gets no memory and no descriptors but
 * those that the request names.
 */
#ifndef DINGO_PRELOAD_FOREIGN_H
#define DINGO_PRELOAD_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "request.h"

enum dingo_owner {
    DINGO_OWNER_OURS,    /* our own user, or root */
    DINGO_OWNER_NAMED,   /* another user, whom DINGO_TRUST_OWNER names */
    DINGO_OWNER_UNKNOWN, /* another user, or nobody that the kernel names */
};

/*
 * Returns who serves the connection (enum dingo_owner) and sets *user to that UID; -errno when `fd`
 * is no connection.
 */
int dingo_owner_of(int fd, uid_t* user);

/* A descriptor of the file for the arguments of requests to that user's cards, the library's own.
 * -errno: none can be made. */
int dingo_foreign_file(uid_t user);

/* What one request has given to the card. */
struct dingo_foreign {
    struct dingo_foreign_file* file;
    unsigned block;
    const struct dingo_request* original;
    struct dingo_request request; /* what is sent: its addresses are offsets in the file */
};

/* Takes a block of the file and copies the arguments there. 0 or -errno. */
int dingo_foreign_begin(struct dingo_foreign* foreign, uid_t user,
                        const struct dingo_request* request);
/* Whether the request asks the card to map that memory. */
bool dingo_foreign_names_range(const struct dingo_foreign* foreign, uint64_t va, uint64_t length);
/* Whether the card may have a copy of that descriptor. */
bool dingo_foreign_names_fd(const struct dingo_foreign* foreign, int fd);
/* Copies the answer to where the request wants it; its fixups have addresses of this process then.
 */
void dingo_foreign_take(const struct dingo_foreign* foreign, struct dingo_answer* answer);
/* Gives the block back. */
void dingo_foreign_end(struct dingo_foreign* foreign);

/* A line on stderr, once, and -EOPNOTSUPP. */
int dingo_foreign_refuse(const char* what);

#endif
