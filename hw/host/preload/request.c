/* SPDX-License-Identifier: BSD-2-Clause */
#include "request.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "caller.h"
#include "descriptors.h"
#include "exchange.h"
#include "foreign.h"
#include "say.h"
#include "sys.h"

/* Prints the reason, once: libibverbs reports only that it cannot open the device. */
static void say_no_proc(const char* file, long error) {
    DINGO_SAY_ONCE(
        "%s: %s; no card can be used without it: mount /proc, readable and writable, where this "
        "program runs",
        file, strerror((int)-error));
}

/* Returns the descriptor that HELLO passes to the card, or DINGO_NO_MEMORY for rdma_cm, which
 * registers no memory, and for a trusted card of another user. Returns -EACCES for another user
 * that is not trusted. */
#define DINGO_NO_MEMORY INT_MAX

static int open_memory(int fd, bool wanted) {
    uid_t user = 0;
    int owner = dingo_owner_of(fd, &user);
    int memory;

    if (owner == DINGO_OWNER_OURS && !wanted) {
        return DINGO_NO_MEMORY;
    }
    if (owner != DINGO_OWNER_OURS) {
        return owner < 0 ? owner : owner == DINGO_OWNER_NAMED ? DINGO_NO_MEMORY : -EACCES;
    }
    memory = dingo_sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0 && memory != -EMFILE && memory != -ENFILE) {
        say_no_proc("/proc/self/mem", memory);
    }
    return memory;
}

int dingo_hello(int fd, bool memory, uint32_t* rdev) {
    const struct dingo_request request = {.type = DINGO_UVERBS_HELLO};
    pid_t self = (pid_t)DINGO_SYS(SYS_getpid);
    _Atomic pid_t* said = dingo_fd_hello(fd);
    pid_t before = atomic_load(said);
    struct dingo_answer answer;
    struct dingo_message message = {.num_fds = 0};
    long result;

    /* a thread that sends it in an ancestor does not exist here */
    while (before != self &&
           (before == -self || !atomic_compare_exchange_weak(said, &before, -self))) {
        (void)DINGO_SYS(SYS_sched_yield);
        before = atomic_load(said);
    }
    if (before == self) {
        return 0;
    }
    result = message.fds[0] = open_memory(fd, memory);
    if (result >= 0) {
        message.num_fds = message.fds[0] != DINGO_NO_MEMORY;
        result = dingo_exchange(fd, &message, &request, &answer);
        if (message.num_fds != 0) {
            dingo_sys_close(message.fds[0]);
        }
        if (result == 0) {
            result = answer.reply.result;
            dingo_answer_close(&answer);
        }
    }
    if (result >= 0 && rdev) {
        *rdev = answer.reply.rdev;
    }
    atomic_store(said, result < 0 ? before : self);
    return result < 0 ? (int)result : 0;
}

/* Answers NEED_FDS. */
static void add_fds(struct dingo_message* message, const struct dingo_uverbs_reply* reply) {
    message->head.flags |= DINGO_UVERBS_FDS;
    message->num_fds = 0;
    for (uint32_t i = 0; i < reply->num_need_fds && i < DINGO_UVERBS_MAX_NEED_FDS; i++) {
        if (DINGO_SYS(SYS_fcntl, reply->need_fds[i], F_GETFD) < 0) {
            message->head.flags |= DINGO_UVERBS_BADF;
            message->num_fds = 0;
            return;
        }
        message->fds[message->num_fds++] = reply->need_fds[i];
    }
}

/* Answers NEED_SHARING. Returns -errno if memory cannot be allocated. */
static int add_segments(struct dingo_message* message, const struct dingo_uverbs_reply* reply) {
    message->shared = (struct dingo_shared_range){
        .va = reply->need_va,
        .length = reply->need_length,
        .writable = reply->need_writable != 0,
        .segments = message->segments,
        .max_segments = DINGO_UVERBS_MAX_SEGMENTS,
        .fds = message->fds,
        .max_fds = DINGO_ANY_FDS,
    };
    int result;

    message->head.flags |= DINGO_UVERBS_SHARED;
    result = dingo_share(&message->shared);
    if (result == -EFAULT) {
        message->head.flags |= DINGO_UVERBS_FAULT;
        result = 0;
    }
    message->head.num_segments = message->shared.num_segments;
    message->num_fds = message->shared.num_fds;
    return result;
}

/* Answers NEED_FDS or NEED_SHARING for a range of GPU memory. */
static enum dingo_gpu_answer add_gpu(struct dingo_message* message,
                                     const struct dingo_uverbs_reply* reply) {
    bool dmabuf = reply->type == DINGO_UVERBS_NEED_FDS;
    enum dingo_gpu_answer answer;

    if (reply->need_length == 0) {
        return DINGO_GPU_NONE;
    }
    answer = dmabuf ? dingo_gpu_find_dmabuf(reply->need_fds[0], reply->need_offset, reply->need_va,
                                            reply->need_length, &message->gpu)
                    : dingo_gpu_find(reply->need_va, reply->need_length, &message->gpu);
    if (answer == DINGO_GPU_FOUND) {
        message->head.flags = DINGO_UVERBS_GPU;
        message->num_fds = message->gpu.num_fds;
        memcpy(message->fds, message->gpu.fds, message->num_fds * sizeof(message->fds[0]));
    }
    return answer;
}

static void close_gpu(struct dingo_message* message) {
    if (message->head.flags & DINGO_UVERBS_GPU) {
        dingo_gpu_close(&message->gpu);
    }
}

long dingo_request_plain(int fd, const struct dingo_request* request, struct dingo_answer* answer) {
    struct dingo_message message = {.num_fds = 0};
    long result = dingo_exchange(fd, &message, request, answer);

    return result < 0 ? result : answer->reply.result;
}

long dingo_request_with(int fd, const struct dingo_request* request, int carried,
                        struct dingo_answer* answer) {
    struct dingo_message message = {.fds = {carried}, .num_fds = 1};
    long result = dingo_exchange(fd, &message, request, answer);

    return result < 0 ? result : answer->reply.result;
}

/* Checks what a card of another user asks for. Returns 0 or -EOPNOTSUPP. */
static long check_wish(const struct dingo_named* named, const struct dingo_uverbs_reply* reply) {
    if (reply->type == DINGO_UVERBS_NEED_SHARING &&
        !dingo_foreign_names_range(named, reply->need_va, reply->need_length)) {
        return dingo_foreign_refuse("access memory that the program does not register");
    }
    if (reply->type == DINGO_UVERBS_NEED_FDS) {
        for (uint32_t i = 0; i < reply->num_need_fds && i < DINGO_UVERBS_MAX_NEED_FDS; i++) {
            if (!dingo_foreign_names_fd(named, reply->need_fds[i])) {
                return dingo_foreign_refuse("get a file descriptor that the request does not name");
            }
        }
    }
    return 0;
}

/* Returns true if the segments, in any order, cover the whole range. */
static bool is_all_shared(const struct dingo_shared_range* range) {
    uint64_t covered = range->va;
    uint64_t before;

    do {
        before = covered;
        for (uint32_t i = 0; i < range->num_segments; i++) {
            const struct dingo_uverbs_segment* segment = &range->segments[i];

            if (segment->va <= covered && covered - segment->va < segment->length) {
                covered = segment->va + segment->length;
            }
        }
    } while (covered != before && covered < range->va + range->length);
    return covered >= range->va + range->length;
}

/* `foreign`: the card belongs to another user. */
static long request_in_rounds(int fd, const struct dingo_request* request, bool foreign,
                              struct dingo_answer* answer) {
    struct dingo_message message = {.head.flags = request->flags, .num_fds = 0};
    struct dingo_named named = {.fd = -1};
    struct dingo_request seen = *request;
    char begin[128] __attribute__((aligned(8))); /* start of a command; contains all its
                                                  * addresses */
    enum dingo_gpu_answer gpu;
    long result;

    if (request->type != DINGO_UVERBS_IOCTL) {
        seen.payload = begin;
        seen.payload_len =
            request->payload_len < sizeof(begin) ? request->payload_len : sizeof(begin);
        result = dingo_copy_from(begin, request->payload, seen.payload_len);
        if (result < 0) {
            return result;
        }
    }
    if (!dingo_find_arguments(seen.type, seen.payload, seen.payload_len, &message.arguments)) {
        return -ENOMEM;
    }
    result = dingo_check_rooms(&message.arguments);
    if (result < 0) {
        return result;
    }
    if (foreign) {
        named = dingo_foreign_named(&seen);
    }
    /* NEED_FDS and NEED_SHARING are answered at most once each */
    for (int round = 0; round < 3; round++) {
        result = dingo_exchange(fd, &message, request, answer);
        dingo_shared_close(&message.shared);
        close_gpu(&message);
        if (result < 0) {
            return result;
        }
        if (answer->reply.type == DINGO_UVERBS_DONE) {
            if (message.head.flags & DINGO_UVERBS_GPU && answer->reply.result < 0) {
                dingo_gpu_say_refused(answer->reply.result);
            }
            dingo_check_fixups(&message, request, answer);
            return answer->reply.result;
        }
        dingo_answer_close(answer);
        answer->reply.num_fixups = 0;
        result = foreign ? check_wish(&named, &answer->reply) : 0;
        if (result < 0) {
            return result;
        }
        gpu = add_gpu(&message, &answer->reply);
        if (gpu == DINGO_GPU_FOUND && foreign) {
            close_gpu(&message);
            return dingo_foreign_refuse("register memory of a GPU");
        }
        if (gpu == DINGO_GPU_FOUND) {
            continue;
        }
        if (answer->reply.type == DINGO_UVERBS_NEED_SHARING && gpu == DINGO_GPU_SECRET) {
            return -EOPNOTSUPP;
        }
        if (answer->reply.type == DINGO_UVERBS_NEED_SHARING) {
            result = add_segments(&message, &answer->reply);
            if (result < 0) {
                dingo_shared_close(&message.shared);
                return result;
            }
            if (foreign && !(message.head.flags & DINGO_UVERBS_FAULT) &&
                !is_all_shared(&message.shared)) {
                dingo_shared_close(&message.shared);
                return dingo_foreign_refuse(
                    "register memory that cannot be shared: use whole pages of private memory");
            }
        } else if (answer->reply.type == DINGO_UVERBS_NEED_FDS) {
            add_fds(&message, &answer->reply);
        } else {
            return -EIO;
        }
    }
    return -EIO;
}

long dingo_request(int fd, const struct dingo_request* request, struct dingo_answer* answer) {
    uid_t user;
    int owner;
    long result;

    answer->num_fds = 0;
    answer->reply.num_fixups = 0;
    if (request->payload_len > DINGO_UVERBS_MAX_MESSAGE - sizeof(struct dingo_uverbs_request)) {
        return -EINVAL;
    }
    result = dingo_hello(fd, request->type != DINGO_UVERBS_RDMA_CM, NULL);
    if (result < 0) {
        return result;
    }
    owner = dingo_owner_of(fd, &user);
    if (DINGO_LIKELY(owner == DINGO_OWNER_OURS || owner == DINGO_OWNER_NAMED)) {
        return request_in_rounds(fd, request, owner == DINGO_OWNER_NAMED, answer);
    }
    return owner < 0 ? owner : -EACCES;
}

/* Returns true if the card's owner is trusted. The process that serves a card may read and write
 * all memory of its clients (HELLO). A card of another user gets no such access, but must be
 * named by the caller, as libibverbs trusts what a device reports. */
static bool may_be_used(int fd, const char* path) {
    uid_t user = (uid_t)-1;
    int owner = dingo_owner_of(fd, &user);

    if (owner == DINGO_OWNER_OURS || owner == DINGO_OWNER_NAMED) {
        return true;
    }
    DINGO_SAY_ONCE(
        "%.300s belongs to user %u, who could harm a program that uses it: if you trust that user, "
        "use dingo run --trust-owner",
        path, user);
    return false;
}

int dingo_connect(const char* path, int flags) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int place = dingo_sys_open(path, O_PATH | O_CLOEXEC);
    long result;
    int fd;

    if (place < 0) {
        return place;
    }
    /* a path may be longer than sun_path */
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", place);
    fd = (int)DINGO_SYS(SYS_socket, AF_UNIX,
                        SOCK_SEQPACKET | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0), 0);
    if (fd >= 0) {
        do {
            result = DINGO_SYS(SYS_connect, fd, &address, sizeof(address));
        } while (result == -EINTR);
        if (result < 0) {
            dingo_sys_close(fd);
            if (result == -ENOENT) {
                say_no_proc("/proc/self/fd", result);
            }
            /* as open() on a device whose driver is gone */
            fd = result == -ECONNREFUSED ? -ENXIO : (int)result;
        } else if (!may_be_used(fd, path)) {
            dingo_sys_close(fd);
            fd = -EACCES;
        }
    }
    dingo_sys_close(place);
    return fd;
}
