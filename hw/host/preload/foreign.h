/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cards of other users (dingo run --trust-owner). Such a card does not get /proc/self/mem, and no
 * memory and no descriptors but those that the request names.
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

/* What a request lets a card have. It is looked up before the card has the request: afterwards the
 * card may have changed what it says. */
struct dingo_named {
    uint64_t va; /* memory that it is asked to map */
    uint64_t length;
    int fd; /* -1: none */
};

struct dingo_named dingo_foreign_named(const struct dingo_request* request);
/* Whether the card may map that memory. */
bool dingo_foreign_names_range(const struct dingo_named* named, uint64_t va, uint64_t length);
/* Whether it may have a copy of that descriptor. */
bool dingo_foreign_names_fd(const struct dingo_named* named, int fd);

/* A line on stderr, once, and -EOPNOTSUPP. */
int dingo_foreign_refuse(const char* what);

#endif
