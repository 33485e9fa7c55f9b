/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cards of other users (dingo run --trust-owner). Such a card does not get /proc/self/mem, and only
 * the memory and descriptors that a request names.
 */
#ifndef DINGO_PRELOAD_FOREIGN_H
#define DINGO_PRELOAD_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "request.h"

enum dingo_owner {
    DINGO_OWNER_OURS,    /* our own user, or root */
    DINGO_OWNER_NAMED,   /* another user, listed in DINGO_TRUST_OWNER */
    DINGO_OWNER_UNKNOWN, /* another user that is not listed, or one that the kernel does not
                          * report */
};

/*
 * Returns the owner of the process that serves the connection (enum dingo_owner) and sets *user to
 * its UID. Returns -errno if `fd` is not a connection.
 */
int dingo_owner_of(int fd, uid_t* user);

/* The memory and descriptor that a request names. Determined before the card gets the request,
 * as the card may change the request's memory afterwards. */
struct dingo_named {
    uint64_t va; /* memory that the request asks the card to map */
    uint64_t length;
    int fd; /* -1: none */
};

struct dingo_named dingo_foreign_named(const struct dingo_request* request);
/* Returns true if the card may map that memory. */
bool dingo_foreign_names_range(const struct dingo_named* named, uint64_t va, uint64_t length);
/* Returns true if the card may receive a copy of that descriptor. */
bool dingo_foreign_names_fd(const struct dingo_named* named, int fd);

/* Prints a line to stderr, once, and returns -EOPNOTSUPP. */
int dingo_foreign_refuse(const char* what);

#endif
