/* SPDX-License-Identifier: BSD-2-Clause */
#include "foreign.h"

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "arguments.h"
#include "descriptors.h"
#include "say.h"
#include "sys.h"

/* Returns true if `user` is in `list`, a list of UIDs as in DINGO_TRUST_OWNER: "1000,1001". */
static bool is_named(const char* list, uid_t user) {
    while (list && *list) {
        char* end;
        unsigned long number = strtoul(list, &end, 10);

        if (end == list) {
            return false;
        }
        if (number == user) {
            return true;
        }
        list = *end == ',' ? end + 1 : NULL;
    }
    return false;
}

int dingo_owner_of(int fd, uid_t* user) {
    struct ucred owner = {.uid = (uid_t)-1};
    socklen_t length = sizeof(owner);
    long result = DINGO_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &owner, &length);

    if (result < 0) {
        return (int)result;
    }
    *user = owner.uid;
    if (owner.uid == (uid_t)-1) {
        return DINGO_OWNER_UNKNOWN;
    }
    if (owner.uid == 0 || (long)owner.uid == DINGO_SYS(SYS_geteuid)) {
        return DINGO_OWNER_OURS;
    }
    return is_named(getenv("DINGO_TRUST_OWNER"), owner.uid) ? DINGO_OWNER_NAMED
                                                            : DINGO_OWNER_UNKNOWN;
}

int dingo_foreign_refuse(const char* what) {
    DINGO_SAY_ONCE("a card of another user cannot %s", what);
    return -EOPNOTSUPP;
}

/* Returns the command REG_MR or REREG_MR of the request, sent by write(), or by ioctl() with
 * INVOKE_WRITE; else NULL. */
static const char* registration(const struct dingo_request* request, uint32_t* command,
                                size_t* length) {
    if (request->type == DINGO_UVERBS_WRITE &&
        request->payload_len >= sizeof(struct ib_uverbs_cmd_hdr)) {
        const struct ib_uverbs_cmd_hdr* header = request->payload;

        *command = header->command;
        *length = request->payload_len - sizeof(*header);
        return (const char*)(header + 1);
    }
    if (request->type == DINGO_UVERBS_IOCTL) {
        const struct ib_uverbs_ioctl_hdr* header = request->payload;
        const char* found = NULL;

        if (header->object_id != UVERBS_OBJECT_DEVICE ||
            header->method_id != UVERBS_METHOD_INVOKE_WRITE) {
            return NULL;
        }
        for (unsigned i = 0; i < dingo_num_attributes(header, request->payload_len); i++) {
            const struct ib_uverbs_attr* attribute = &header->attrs[i];

            if (attribute->attr_id == UVERBS_ATTR_WRITE_CMD) {
                *command = (uint32_t)attribute->data;
            } else if (attribute->attr_id == UVERBS_ATTR_CORE_IN &&
                       dingo_is_address(header, attribute)) {
                found = (const char*)(uintptr_t)attribute->data;
                *length = attribute->len;
            }
        }
        return found;
    }
    return NULL;
}

/* Returns the DMABuf of REG_DMABUF_MR, or -1. */
static int dmabuf(const struct dingo_request* request) {
    const struct ib_uverbs_ioctl_hdr* header = request->payload;

    if (request->type != DINGO_UVERBS_IOCTL || header->object_id != UVERBS_OBJECT_MR ||
        header->method_id != UVERBS_METHOD_REG_DMABUF_MR) {
        return -1;
    }
    for (unsigned i = 0; i < dingo_num_attributes(header, request->payload_len); i++) {
        if (header->attrs[i].attr_id == UVERBS_ATTR_REG_DMABUF_MR_FD) {
            return (int)header->attrs[i].data;
        }
    }
    return -1;
}

struct dingo_named dingo_foreign_named(const struct dingo_request* request) {
    struct dingo_named named = {.fd = dmabuf(request)};
    uint32_t command = 0;
    size_t bytes = 0;
    const char* at = registration(request, &command, &bytes);

    if (at && command == IB_USER_VERBS_CMD_REG_MR && bytes >= sizeof(struct ib_uverbs_reg_mr)) {
        named.va = dingo_word_at(at, offsetof(struct ib_uverbs_reg_mr, start));
        named.length = dingo_word_at(at, offsetof(struct ib_uverbs_reg_mr, length));
    }
    if (at && command == IB_USER_VERBS_CMD_REREG_MR && bytes >= sizeof(struct ib_uverbs_rereg_mr)) {
        named.va = dingo_word_at(at, offsetof(struct ib_uverbs_rereg_mr, start));
        named.length = dingo_word_at(at, offsetof(struct ib_uverbs_rereg_mr, length));
    }
    return named;
}

bool dingo_foreign_names_range(const struct dingo_named* named, uint64_t va, uint64_t length) {
    return length != 0 && named->va == va && named->length == length;
}

bool dingo_foreign_names_fd(const struct dingo_named* named, int fd) {
    enum dingo_fd_kind kind = dingo_fd_kind(dingo_fd_entry(fd));

    /* event channels are created by a card */
    return ((kind == DINGO_FD_COMP || kind == DINGO_FD_ASYNC) && dingo_fd_is_connection(fd)) ||
           (fd >= 0 && fd == named->fd);
}
