/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the memory that a request names by address: its bytes are sent with the request, or the
 * answer is written there (hw/host/uverbs/protocol.h).
 */
#ifndef DINGO_PRELOAD_ARGUMENTS_H
#define DINGO_PRELOAD_ARGUMENTS_H

#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/uverbs/protocol.h"

/* Attributes of one ioctl; libibverbs uses about 20. */
#define DINGO_MAX_ATTRIBUTES 64
#define DINGO_MAX_IOCTL \
    (sizeof(struct ib_uverbs_ioctl_hdr) + DINGO_MAX_ATTRIBUTES * sizeof(struct ib_uverbs_attr))

struct dingo_arguments {
    struct dingo_uverbs_argument list[DINGO_UVERBS_MAX_ARGUMENTS];
    uint32_t count;
    uint64_t bytes; /* bytes sent with the request */
    uint64_t room;  /* bytes that the answer may return */
};

/* Fills `arguments` for a payload of request type `type` (enum dingo_uverbs_request_type).
 * Returns false if they do not fit in a message. */
bool dingo_find_arguments(uint32_t type, const void* payload, size_t length,
                          struct dingo_arguments* arguments);

uint64_t dingo_word_at(const void* bytes, size_t offset);
/* Returns true if `data` of the attribute is an address. */
bool dingo_is_address(const struct ib_uverbs_ioctl_hdr* header,
                      const struct ib_uverbs_attr* attribute);
/* Number of attributes that lie completely within the ioctl's payload. */
unsigned dingo_num_attributes(const struct ib_uverbs_ioctl_hdr* header, size_t length);

/* Returns true if `offset` in the ioctl is the `data` of an attribute of length 0. */
bool dingo_is_number_at(const struct ib_uverbs_ioctl_hdr* header, size_t length, uint64_t offset);

/* Copies the attributes' flags and the handles of new objects from the ioctl `answer` to
 * `header`. */
void dingo_take_ioctl(struct ib_uverbs_ioctl_hdr* header, size_t length, const void* answer);

#endif
