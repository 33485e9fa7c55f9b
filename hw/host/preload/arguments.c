/* SPDX-License-Identifier: BSD-2-Clause */
#include "arguments.h"

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "host/uverbs/answers.h"

static bool add(struct dingo_arguments* arguments, uint64_t va, uint64_t length, bool room) {
    uint64_t* sum = room ? &arguments->room : &arguments->bytes;

    if (va == 0 || length == 0) {
        return true; /* the card reports the error */
    }
    if (arguments->count == DINGO_UVERBS_MAX_ARGUMENTS ||
        length > DINGO_UVERBS_MAX_MESSAGE - *sum) {
        return false;
    }
    arguments->list[arguments->count++] = (struct dingo_uverbs_argument){
        .va = va, .length = (uint32_t)length, .flags = room ? DINGO_UVERBS_ROOM : 0};
    *sum += length;
    return true;
}

uint64_t dingo_word_at(const void* bytes, size_t offset) {
    uint64_t value;

    memcpy(&value, (const char*)bytes + offset, sizeof(value));
    return value;
}

static bool is_answer(const struct ib_uverbs_ioctl_hdr* header,
                      const struct ib_uverbs_attr* attribute) {
    return dingo_is_answer(header->object_id, header->method_id, attribute->attr_id);
}

bool dingo_is_address(const struct ib_uverbs_ioctl_hdr* header,
                      const struct ib_uverbs_attr* attribute) {
    return attribute->len > sizeof(attribute->data) ||
           (attribute->len > 0 && is_answer(header, attribute));
}

unsigned dingo_num_attributes(const struct ib_uverbs_ioctl_hdr* header, size_t length) {
    size_t room =
        length < sizeof(*header) ? 0 : (length - sizeof(*header)) / sizeof(header->attrs[0]);

    return room != 0 && header->num_attrs < room ? header->num_attrs : (unsigned)room;
}

static bool find_of_ioctl(const struct ib_uverbs_ioctl_hdr* header, size_t length,
                          struct dingo_arguments* arguments) {
    unsigned count = dingo_num_attributes(header, length);

    for (unsigned i = 0; i < count; i++) {
        if (dingo_is_address(header, &header->attrs[i]) &&
            !add(arguments, header->attrs[i].data, header->attrs[i].len,
                 is_answer(header, &header->attrs[i]))) {
            return false;
        }
    }
    return true;
}

/* write() on uverbs: the address of the answer follows the header. */
static bool find_of_write(const void* payload, size_t length, struct dingo_arguments* arguments) {
    const struct ib_uverbs_cmd_hdr* header = payload;
    const struct ib_uverbs_ex_cmd_hdr* extended = (const void*)(header + 1);
    uint64_t room;

    if (length < sizeof(*header) + sizeof(uint64_t)) {
        return true;
    }
    room = header->out_words * 4ULL;
    if (header->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) {
        if (length < sizeof(*header) + sizeof(*extended)) {
            return true;
        }
        room = (header->out_words + (uint64_t)extended->provider_out_words) * 8;
    }
    return room == 0 || add(arguments, dingo_word_at(payload, sizeof(*header)), room, true);
}

/* write() on rdma_cm: the address of the answer is the first word, except in CREATE_ID. SET_OPTION
 * has the address of the option instead. */
static bool find_of_cm(const void* payload, size_t length, struct dingo_arguments* arguments) {
    struct rdma_ucm_cmd_hdr header;
    size_t at = sizeof(header);

    if (length < sizeof(header)) {
        return true;
    }
    memcpy(&header, payload, sizeof(header));
    if (header.cmd == RDMA_USER_CM_CMD_SET_OPTION) {
        struct rdma_ucm_set_option option;

        if (length < at + sizeof(option)) {
            return true;
        }
        memcpy(&option, (const char*)payload + at, sizeof(option));
        return add(arguments, option.optval, option.optlen, false);
    }
    if (header.cmd == RDMA_USER_CM_CMD_CREATE_ID) {
        at += offsetof(struct rdma_ucm_create_id, response);
    }
    return header.out == 0 || length < at + sizeof(uint64_t) ||
           add(arguments, dingo_word_at(payload, at), header.out, true);
}

bool dingo_find_arguments(uint32_t type, const void* payload, size_t length,
                          struct dingo_arguments* arguments) {
    arguments->count = 0;
    arguments->bytes = 0;
    arguments->room = 0;
    switch (type) {
        case DINGO_UVERBS_IOCTL:
            return find_of_ioctl(payload, length, arguments);
        case DINGO_UVERBS_WRITE:
            return find_of_write(payload, length, arguments);
        case DINGO_UVERBS_RDMA_CM:
            return find_of_cm(payload, length, arguments);
        default:
            return true;
    }
}

bool dingo_is_number_at(const struct ib_uverbs_ioctl_hdr* header, size_t length, uint64_t offset) {
    unsigned count = dingo_num_attributes(header, length);
    uint64_t first = sizeof(*header) + offsetof(struct ib_uverbs_attr, data);
    uint64_t number = (offset - first) / sizeof(header->attrs[0]);

    return offset >= first && (offset - first) % sizeof(header->attrs[0]) == 0 && number < count &&
           header->attrs[number].len == 0;
}

void dingo_take_ioctl(struct ib_uverbs_ioctl_hdr* header, size_t length, const void* answer) {
    const struct ib_uverbs_ioctl_hdr* copy = answer;
    unsigned count = dingo_num_attributes(header, length);

    for (unsigned i = 0; i < count; i++) {
        if (header->attrs[i].len == 0) {
            header->attrs[i].data = copy->attrs[i].data;
        }
        if (copy->attrs[i].flags & UVERBS_ATTR_F_VALID_OUTPUT) {
            header->attrs[i].flags |= UVERBS_ATTR_F_VALID_OUTPUT;
        }
    }
}
