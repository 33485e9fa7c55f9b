/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request names by address in the caller's memory, and so brings along (protocol.h).
 */
#ifndef DINGO_PRELOAD_ARGUMENTS_H
#define DINGO_PRELOAD_ARGUMENTS_H

#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/uverbs/protocol.h"

/* Attributes of one ioctl; libibverbs uses some 20. */
#define DINGO_MAX_ATTRIBUTES 64
#define DINGO_MAX_IOCTL \
    (sizeof(struct ib_uverbs_ioctl_hdr) + DINGO_MAX_ATTRIBUTES * sizeof(struct ib_uverbs_attr))

struct dingo_arguments {
    struct dingo_uverbs_argument list[DINGO_UVERBS_MAX_ARGUMENTS];
    uint32_t count;
    uint64_t bytes; /* that go with the request */
    uint64_t room;  /* bytes that may come back */
};

/* Fills `arguments` for a payload of that type (enum dingo_uverbs_request_type). False: there is
 * more than a message holds. */
bool dingo_find_arguments(uint32_t type, const void* payload, size_t length,
                          struct dingo_arguments* arguments);

uint64_t dingo_word_at(const void* bytes, size_t offset);
/* Whether `data` of the attribute is an address. */
bool dingo_is_address(const struct ib_uverbs_ioctl_hdr* header,
                      const struct ib_uverbs_attr* attribute);
/* Attributes of the ioctl that are whole in its payload. */
unsigned dingo_num_attributes(const struct ib_uverbs_ioctl_hdr* header, size_t length);

/* Whether the number at `offset` of the ioctl is one of an attribute that has no length. */
bool dingo_is_number_at(const struct ib_uverbs_ioctl_hdr* header, size_t length, uint64_t offset);

/* An ioctl has come back as `answer`: takes over the flags of attributes, and the handles of
 * objects. */
void dingo_take_ioctl(struct ib_uverbs_ioctl_hdr* header, size_t length, const void* answer);

#endif
