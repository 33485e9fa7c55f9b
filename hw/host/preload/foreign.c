/* SPDX-License-Identifier: BSD-2-Clause */
#include "foreign.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "arena.h"
#include "descriptors.h"
#include "host/uverbs/small_answers.h"
#include "sys.h"

#define BLOCK_BYTES 65536ULL
#define NUM_BLOCKS 16U /* the card takes files of up to 1 MiB */
#define FILE_BYTES (BLOCK_BYTES * NUM_BLOCKS)
#define MAX_OWNERS 4
#define MAX_ATTRIBUTES 128 /* of one ioctl: the card takes 4096 bytes */

struct dingo_foreign_file {
    uid_t user;
    pid_t process; /* 0: unused. A forked child makes files of its own */
    int fd;
    ino_t inode;
    char* at;
    atomic_uint taken; /* bit n: block n */
};

static struct dingo_foreign_file files[MAX_OWNERS];

/* The users, by number, whose cards may be used although they are not ours: "1000,1001". */
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
    static atomic_flag said = ATOMIC_FLAG_INIT;
    char text[256];

    if (!atomic_flag_test_and_set(&said)) {
        int bytes = snprintf(text, sizeof(text), "dingo: a card of another user cannot %s\n", what);

        (void)DINGO_SYS(SYS_write, 2, text, (size_t)bytes);
    }
    return -EOPNOTSUPP;
}

/* The application may have closed the descriptor by a system call of its own. */
static bool is_still_ours(const struct dingo_foreign_file* file) {
    struct stat st;

    return file->process == (pid_t)DINGO_SYS(SYS_getpid) &&
           DINGO_SYS(SYS_fstat, file->fd, &st) == 0 && st.st_ino == file->inode;
}

static int make_file(struct dingo_foreign_file* file, uid_t user) {
    int fd = (int)DINGO_SYS(SYS_memfd_create, "dingo-arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stat st;
    long at;

    if (fd < 0) {
        return fd;
    }
    at = DINGO_SYS(SYS_ftruncate, fd, FILE_BYTES);
    if (at == 0) {
        at = DINGO_SYS(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    }
    if (at == 0) {
        at = DINGO_SYS(SYS_fstat, fd, &st);
    }
    if (at == 0) {
        at = DINGO_SYS(SYS_mmap, NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (at < 0) {
        dingo_sys_close(fd);
        return (int)at;
    }
    file->fd = dingo_arena_move_up(fd);
    file->inode = st.st_ino;
    file->at = (char*)at;
    file->user = user;
    atomic_store(&file->taken, 0);
    file->process = (pid_t)DINGO_SYS(SYS_getpid);
    dingo_fd_set(file->fd, DINGO_FD_ARENA, 0);
    return 0;
}

/* Call with the arena's lock held. */
static struct dingo_foreign_file* file_for(uid_t user) {
    pid_t self = (pid_t)DINGO_SYS(SYS_getpid);

    for (unsigned i = 0; i < MAX_OWNERS; i++) {
        if (files[i].process == self && files[i].user == user) {
            return &files[i];
        }
    }
    return NULL;
}

int dingo_foreign_file(uid_t user) {
    pid_t self = (pid_t)DINGO_SYS(SYS_getpid);
    struct dingo_foreign_file* file;
    uint64_t signals;
    int result = -EMFILE;

    if (!dingo_fd_table_is_ours()) {
        return -EAGAIN; /* a vfork() child */
    }
    dingo_arena_lock(&signals);
    file = file_for(user);
    for (unsigned i = 0; !file && i < MAX_OWNERS; i++) {
        if (files[i].process != self) {
            if (files[i].process != 0) {
                (void)DINGO_SYS(SYS_munmap, files[i].at, FILE_BYTES); /* our parent's */
            }
            files[i].process = 0;
            result = make_file(&files[i], user);
            file = result == 0 ? &files[i] : NULL;
            break;
        }
    }
    /* A file that is gone is not made again: cards still have the old one. */
    if (file) {
        result = is_still_ours(file) ? file->fd : -EIO;
    }
    dingo_arena_unlock(&signals);
    return result;
}

static unsigned take_block(struct dingo_foreign_file* file) {
    for (;;) {
        unsigned taken = atomic_load(&file->taken);

        for (unsigned n = 0; n < NUM_BLOCKS; n++) {
            if (!(taken & 1U << n)) {
                if (atomic_compare_exchange_strong(&file->taken, &taken, taken | 1U << n)) {
                    return n;
                }
                break;
            }
        }
        (void)DINGO_SYS(SYS_sched_yield);
    }
}

void dingo_foreign_end(struct dingo_foreign* foreign) {
    if (foreign->file) {
        (void)atomic_fetch_and(&foreign->file->taken, ~(1U << foreign->block));
        foreign->file = NULL;
    }
}

/* An argument: `length` bytes at `va`, which are at `offset` of the block. */
struct place {
    uint64_t va;
    uint64_t length;
    uint64_t offset;
};

/* What a request consists of, the first place being its own bytes. The same for the same request:
 * nothing of it is read back from the file. */
struct places {
    struct place list[1 + MAX_ATTRIBUTES];
    unsigned count;
    uint64_t used;
};

static bool add_place(struct places* places, uint64_t va, uint64_t length) {
    if (places->count == 1 + MAX_ATTRIBUTES || length > BLOCK_BYTES - places->used) {
        return false;
    }
    places->list[places->count++] =
        (struct place){.va = va, .length = length, .offset = places->used};
    places->used += (length + 7) & ~7ULL;
    return true;
}

static bool is_address(const struct ib_uverbs_ioctl_hdr* header,
                       const struct ib_uverbs_attr* attribute) {
    return attribute->len > sizeof(attribute->data) ||
           (attribute->len > 0 &&
            dingo_is_small_answer(header->object_id, header->method_id, attribute->attr_id));
}

static unsigned num_attributes(const struct dingo_request* request) {
    const struct ib_uverbs_ioctl_hdr* header = request->payload;
    size_t room = (request->payload_len - sizeof(*header)) / sizeof(header->attrs[0]);

    return header->num_attrs < room ? header->num_attrs : (unsigned)room;
}

static bool find_places_of_ioctl(const struct dingo_request* request, struct places* places) {
    const struct ib_uverbs_ioctl_hdr* header = request->payload;

    for (unsigned i = 0; i < num_attributes(request); i++) {
        if (is_address(header, &header->attrs[i]) &&
            !add_place(places, header->attrs[i].data, header->attrs[i].len)) {
            return false;
        }
    }
    return true;
}

/* Where the address of the answer stands in a write(); 0: there is none. *length: of the answer. */
static size_t response_of(const struct dingo_request* request, uint64_t* length) {
    const struct ib_uverbs_cmd_hdr* header = request->payload;
    const struct ib_uverbs_ex_cmd_hdr* extended = (const void*)(header + 1);

    *length = 0;
    if (request->type != DINGO_UVERBS_WRITE || request->payload_len < sizeof(*header)) {
        return 0;
    }
    if (header->command & IB_USER_VERBS_CMD_FLAG_EXTENDED) {
        if (request->payload_len < sizeof(*header) + sizeof(*extended)) {
            return 0;
        }
        *length = (header->out_words + (uint64_t)extended->provider_out_words) * 8;
    } else if (request->payload_len >= sizeof(*header) + sizeof(uint64_t)) {
        *length = header->out_words * 4ULL;
    }
    return *length != 0 ? sizeof(*header) : 0;
}

static uint64_t word_at(const void* bytes, size_t offset) {
    uint64_t value;

    memcpy(&value, (const char*)bytes + offset, sizeof(value));
    return value;
}

static bool find_places(const struct dingo_request* request, struct places* places) {
    uint64_t length;
    size_t response;

    places->count = 0;
    places->used = 0;
    if (!add_place(places, (uintptr_t)request->payload, request->payload_len)) {
        return false;
    }
    if (request->type == DINGO_UVERBS_IOCTL) {
        return find_places_of_ioctl(request, places);
    }
    response = response_of(request, &length);
    return response == 0 || word_at(request->payload, response) == 0 ||
           add_place(places, word_at(request->payload, response), length);
}

static uint64_t offset_of_block(const struct dingo_foreign* foreign) {
    return foreign->block * BLOCK_BYTES;
}

/* The copy of the request's own bytes names the copies of its arguments. */
static void rewrite(const struct dingo_foreign* foreign, const struct places* places, char* block) {
    const struct dingo_request* request = foreign->original;
    unsigned next = 1;

    if (request->type == DINGO_UVERBS_IOCTL) {
        const struct ib_uverbs_ioctl_hdr* header = request->payload;
        struct ib_uverbs_ioctl_hdr* copy = (void*)block;

        for (unsigned i = 0; i < num_attributes(request); i++) {
            if (is_address(header, &header->attrs[i])) {
                copy->attrs[i].data = offset_of_block(foreign) + places->list[next++].offset;
            }
        }
    } else if (places->count > 1) {
        uint64_t length;
        uint64_t value = offset_of_block(foreign) + places->list[1].offset;

        memcpy(block + response_of(request, &length), &value, sizeof(value));
    }
}

int dingo_foreign_begin(struct dingo_foreign* foreign, uid_t user,
                        const struct dingo_request* request) {
    struct places places;
    uint64_t signals;
    char* block;

    foreign->original = request;
    foreign->request = *request;
    dingo_arena_lock(&signals);
    foreign->file = file_for(user);
    dingo_arena_unlock(&signals);
    if (!foreign->file) {
        return -EIO;
    }
    if (request->payload_len == 0) {
        foreign->file = NULL;
        return 0;
    }
    if (!find_places(request, &places)) {
        foreign->file = NULL;
        return -ENOMEM;
    }
    foreign->block = take_block(foreign->file);
    block = foreign->file->at + offset_of_block(foreign);
    for (unsigned i = 0; i < places.count; i++) {
        memcpy(block + places.list[i].offset, (const void*)(uintptr_t)places.list[i].va,
               places.list[i].length);
    }
    rewrite(foreign, &places, block);
    foreign->request.payload = block;
    foreign->request.arg = offset_of_block(foreign);
    return 0;
}

/* The command REG_MR or REREG_MR of the request: by write(), or by ioctl() with INVOKE_WRITE. */
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
        for (unsigned i = 0; i < num_attributes(request); i++) {
            const struct ib_uverbs_attr* attribute = &header->attrs[i];

            if (attribute->attr_id == UVERBS_ATTR_WRITE_CMD) {
                *command = (uint32_t)attribute->data;
            } else if (attribute->attr_id == UVERBS_ATTR_CORE_IN && is_address(header, attribute)) {
                found = (const char*)(uintptr_t)attribute->data;
                *length = attribute->len;
            }
        }
        return found;
    }
    return NULL;
}

bool dingo_foreign_names_range(const struct dingo_foreign* foreign, uint64_t va, uint64_t length) {
    uint32_t command = 0;
    size_t bytes = 0;
    const char* at = registration(foreign->original, &command, &bytes);

    if (at && command == IB_USER_VERBS_CMD_REG_MR && bytes >= sizeof(struct ib_uverbs_reg_mr)) {
        return word_at(at, offsetof(struct ib_uverbs_reg_mr, start)) == va &&
               word_at(at, offsetof(struct ib_uverbs_reg_mr, length)) == length;
    }
    if (at && command == IB_USER_VERBS_CMD_REREG_MR && bytes >= sizeof(struct ib_uverbs_rereg_mr)) {
        return word_at(at, offsetof(struct ib_uverbs_rereg_mr, start)) == va &&
               word_at(at, offsetof(struct ib_uverbs_rereg_mr, length)) == length;
    }
    return false;
}

bool dingo_foreign_names_fd(const struct dingo_foreign* foreign, int fd) {
    const struct dingo_request* request = foreign->original;
    enum dingo_fd_kind kind = dingo_fd_kind(dingo_fd_entry(fd));

    if (kind == DINGO_FD_COMP || kind == DINGO_FD_ASYNC) {
        return true; /* made by a card */
    }
    if (request->type == DINGO_UVERBS_IOCTL) {
        const struct ib_uverbs_ioctl_hdr* header = request->payload;

        for (unsigned i = 0; i < num_attributes(request); i++) {
            if (header->object_id == UVERBS_OBJECT_MR &&
                header->method_id == UVERBS_METHOD_REG_DMABUF_MR &&
                header->attrs[i].attr_id == UVERBS_ATTR_REG_DMABUF_MR_FD) {
                return (int)header->attrs[i].data == fd;
            }
        }
    }
    return false;
}

/*
 * An answer may change two things of the ioctl's own bytes: the flags of attributes, and handles of
 * objects.
 */
static void take_ioctl(const struct dingo_foreign* foreign, const struct places* places,
                       const char* block) {
    struct ib_uverbs_ioctl_hdr* header = (void*)(uintptr_t)foreign->original->payload;
    const struct ib_uverbs_ioctl_hdr* copy = (const void*)block;
    unsigned next = 1;

    for (unsigned i = 0; i < num_attributes(foreign->original); i++) {
        struct ib_uverbs_attr* attribute = &header->attrs[i];
        bool valid = copy->attrs[i].flags & UVERBS_ATTR_F_VALID_OUTPUT;

        if (is_address(header, attribute)) {
            const struct place* place = &places->list[next++];

            if (valid) {
                memcpy((void*)(uintptr_t)place->va, block + place->offset, place->length);
            }
        } else if (attribute->len == 0) {
            attribute->data = copy->attrs[i].data;
        }
        if (valid) {
            attribute->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
        }
    }
}

/* The address in this process of `size` bytes at an offset of the file; 0: the request has no room
 * there. */
static uint64_t address_of(const struct dingo_foreign* foreign, const struct places* places,
                           uint64_t offset, uint32_t size) {
    uint64_t begin = offset - offset_of_block(foreign);

    for (unsigned i = 0; i < places->count; i++) {
        const struct place* place = &places->list[i];

        if (begin >= place->offset && begin - place->offset <= place->length &&
            size <= place->length - (begin - place->offset)) {
            return place->va + (begin - place->offset);
        }
    }
    return 0;
}

void dingo_foreign_take(const struct dingo_foreign* foreign, struct dingo_answer* answer) {
    struct places places;
    const char* block;

    if (!foreign->file || !find_places(foreign->original, &places)) {
        answer->reply.num_fixups = 0;
        return;
    }
    block = foreign->file->at + offset_of_block(foreign);
    if (answer->reply.result >= 0) {
        if (foreign->original->type == DINGO_UVERBS_IOCTL) {
            take_ioctl(foreign, &places, block);
        } else if (places.count > 1) {
            memcpy((void*)(uintptr_t)places.list[1].va, block + places.list[1].offset,
                   places.list[1].length);
        }
    }
    for (uint32_t i = 0; i < answer->reply.num_fixups; i++) {
        struct dingo_uverbs_fixup* fixup = &answer->fixups[i];

        fixup->va = address_of(foreign, &places, fixup->va, fixup->size);
        if (fixup->va == 0) {
            fixup->size = 0; /* install() leaves it out */
        }
    }
}
