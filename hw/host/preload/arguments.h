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

/* Of one ioctl, that an answer changes; those of libibverbs have some 20. */
#define DINGO_MAX_ATTRIBUTES 64

struct dingo_arguments {
    struct dingo_uverbs_argument list[DINGO_UVERBS_MAX_ARGUMENTS];
    bool is_answer[DINGO_UVERBS_MAX_ARGUMENTS]; /* the card may write there */
    uint32_t count;
    uint64_t bytes;
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

/* Whether the fixup is for an attribute that holds a number of its own. */
bool dingo_is_number_of(const struct ib_uverbs_ioctl_hdr* header, size_t length,
                        const struct dingo_uverbs_fixup* fixup);

/* The first `changed` bytes of an ioctl's payload come back in `answer`: takes over the flags of
 * attributes, and the handles of objects. */
void dingo_take_ioctl(struct ib_uverbs_ioctl_hdr* header, size_t length, const void* answer,
                      size_t changed);

#endif
