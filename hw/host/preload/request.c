/* SPDX-License-Identifier: BSD-2-Clause */
#include "request.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "arguments.h"
#include "caller.h"
#include "descriptors.h"
#include "foreign.h"
#include "gpu.h"
#include "sharing.h"
#include "sys.h"

#define ANY_FDS (DINGO_UVERBS_MAX_FDS - 1)

/* A request on its way: what is sent besides its own fields. */
struct message {
    struct dingo_uverbs_request head;
    struct dingo_uverbs_segment segments[DINGO_UVERBS_MAX_SEGMENTS];
    int fds[DINGO_UVERBS_MAX_PIECES]; /* after the reply socket; with flag GPU that many, else
                                       * ANY_FDS at most */
    unsigned num_fds;
    struct dingo_shared_range shared; /* where the segments and descriptors are from */
    struct dingo_arguments arguments; /* their bytes are sent from where they are */
    struct dingo_gpu_memory gpu;      /* with flag GPU */
};

/* Descriptors that go, and that come. */
union sent_control {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int) * (1 + DINGO_UVERBS_MAX_PIECES))];
};
union control {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int) * DINGO_UVERBS_MAX_FDS)];
};

static long send_message(int fd, struct message* message, const struct dingo_request* request,
                         int reply_fd) {
    union sent_control control;
    bool gpu = message->head.flags & DINGO_UVERBS_GPU;
    struct iovec parts[6 + DINGO_UVERBS_MAX_ARGUMENTS] = {
        {&message->head, sizeof(message->head)},
        {message->segments, message->head.num_segments * sizeof(message->segments[0])},
        {&message->gpu.handle, gpu ? sizeof(message->gpu.handle) : 0},
        {message->gpu.pieces,
         gpu ? message->gpu.handle.num_pieces * sizeof(message->gpu.pieces[0]) : 0},
        {message->arguments.list, message->arguments.count * sizeof(message->arguments.list[0])},
        {(void*)(uintptr_t)request->payload, request->payload_len},
    };
    struct msghdr header = {
        .msg_iov = parts, .msg_iovlen = 6 + message->arguments.count, .msg_control = &control};
    size_t bytes = sizeof(int) * (1 + message->num_fds);
    size_t total = 0;

    for (uint32_t i = 0; i < message->arguments.count; i++) {
        const struct dingo_uverbs_argument* argument = &message->arguments.list[i];

        parts[6 + i] = (struct iovec){(void*)(uintptr_t)argument->va,
                                      argument->flags & DINGO_UVERBS_ROOM ? 0 : argument->length};
    }
    for (size_t i = 0; i < header.msg_iovlen; i++) {
        total += parts[i].iov_len;
    }
    if (total > DINGO_UVERBS_MAX_MESSAGE) {
        return -ENOMEM; /* the card would see half of it, and close the connection */
    }
    memset(&control, 0, sizeof(control));
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(&control.head), &reply_fd, sizeof(int));
    memcpy(CMSG_DATA(&control.head) + sizeof(int), message->fds, sizeof(int) * message->num_fds);
    header.msg_controllen = CMSG_SPACE(bytes);
    for (;;) {
        long sent = DINGO_SYS(SYS_sendmsg, fd, &header, MSG_NOSIGNAL);

        if (sent == -EAGAIN) {
            /* the application made its descriptor non-blocking, which does not matter to a request
             */
            struct pollfd wait = {.fd = fd, .events = POLLOUT};

            (void)DINGO_SYS(SYS_ppoll, &wait, 1, NULL, NULL, 0);
        } else if (sent == -EPIPE || sent == -ECONNRESET || sent == -ENOTCONN ||
                   sent == -ECONNREFUSED) {
            return -EIO;
        } else if (sent != -EINTR) {
            return sent < 0 ? sent : 0;
        }
    }
}

static void take_fds(const struct msghdr* header, struct dingo_answer* answer) {
    struct cmsghdr* c;

    for (c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR((struct msghdr*)(uintptr_t)header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            answer->num_fds = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(answer->fds, CMSG_DATA(c), answer->num_fds * sizeof(int));
        }
    }
}

static bool has_room(const struct message* message, const struct dingo_request* request,
                     const struct dingo_uverbs_result* result) {
    const struct dingo_uverbs_argument* argument;
    uint64_t room = request->payload_len;

    if (result->argument == 0 && request->type != DINGO_UVERBS_IOCTL) {
        return false;
    }
    if (result->argument != 0) {
        if (result->argument > message->arguments.count) {
            return false;
        }
        argument = &message->arguments.list[result->argument - 1];
        room = argument->flags & DINGO_UVERBS_ROOM ? argument->length : 0;
    }
    return result->length <= room && result->offset <= room - result->length;
}

/* What stands before the results' bytes in an answer. */
struct answer_head {
    struct dingo_uverbs_reply reply;
    char rest[sizeof(struct dingo_uverbs_fixup) * DINGO_UVERBS_MAX_FDS +
              sizeof(struct dingo_uverbs_result) * (1 + DINGO_UVERBS_MAX_ARGUMENTS)];
};

static long receive_message(int fd, struct msghdr* header, int flags) {
    long got;

    do {
        got = DINGO_SYS(SYS_recvmsg, fd, header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | flags);
    } while (got == -EINTR);
    return got;
}

/* Card and library are of one installation, or do not understand each other. */
static void say_version(uint32_t version) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    char text[128];

    if (!atomic_flag_test_and_set(&said)) {
        int bytes = snprintf(text, sizeof(text),
                             "dingo: the card's protocol has version %u, this library's %u\n",
                             version, DINGO_UVERBS_VERSION);

        (void)DINGO_SYS(SYS_write, 2, text, (size_t)bytes);
    }
}

/* The answer stays where it is: only its head is looked at. The size of that, or -errno. */
static long peek(int fd, const struct message* message, const struct dingo_request* request,
                 struct dingo_answer* answer, struct answer_head* head,
                 struct dingo_uverbs_result* results) {
    struct iovec part = {head, sizeof(*head)};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    long got = receive_message(fd, &header, MSG_PEEK | MSG_TRUNC);
    size_t fixups;
    size_t bytes;
    size_t size;

    if (got < 0) {
        return got;
    }
    if (got >= (long)sizeof(head->reply) && head->reply.version != DINGO_UVERBS_VERSION) {
        say_version(head->reply.version);
    }
    if (got < (long)sizeof(head->reply) || head->reply.version != DINGO_UVERBS_VERSION ||
        head->reply.num_fixups > DINGO_UVERBS_MAX_FDS ||
        /* an answer that asks for something, or refuses, writes nothing */
        (head->reply.num_results != 0 &&
         (head->reply.type != DINGO_UVERBS_DONE || head->reply.result < 0)) ||
        head->reply.num_results > 1 + message->arguments.count) {
        return -EIO;
    }
    fixups = head->reply.num_fixups * sizeof(answer->fixups[0]);
    bytes = head->reply.num_results * sizeof(results[0]);
    size = sizeof(head->reply) + fixups + bytes;
    if ((size_t)got < size) {
        return -EIO;
    }
    answer->reply = head->reply;
    memcpy(answer->fixups, head->rest, fixups);
    memcpy(results, head->rest + fixups, bytes);
    for (uint32_t i = 0; i < head->reply.num_results; i++) {
        if (!has_room(message, request, &results[i])) {
            return -EIO;
        }
        size += results[i].length;
    }
    return (size_t)got == size ? (long)(sizeof(head->reply) + fixups + bytes) : -EIO;
}

/* Results go where the request wants them: the kernel copies, so that an address which is none is
 * EFAULT. */
static long receive(int fd, const struct message* message, const struct dingo_request* request,
                    struct dingo_answer* answer) {
    char ioctl[DINGO_MAX_IOCTL] __attribute__((aligned(8)));
    char attributes[DINGO_MAX_IOCTL] __attribute__((aligned(8)));
    struct dingo_uverbs_result results[1 + DINGO_UVERBS_MAX_ARGUMENTS];
    struct iovec parts[2 + DINGO_UVERBS_MAX_ARGUMENTS];
    struct answer_head head;
    union control control;
    struct msghdr header = {.msg_iov = parts,
                            .msg_iovlen = 1,
                            .msg_control = &control,
                            .msg_controllen = sizeof(control)};
    bool changed = false;
    long size = peek(fd, message, request, answer, &head, results);
    long got;

    if (size == -EAGAIN) {
        return size;
    }
    parts[0] = (struct iovec){&head, size < 0 ? 0 : (size_t)size};
    if (request->type == DINGO_UVERBS_IOCTL) {
        memcpy(ioctl, request->payload, request->payload_len);
    }
    for (uint32_t i = 0; size >= 0 && i < head.reply.num_results; i++) {
        char* at = ioctl;

        if (results[i].argument != 0) {
            at = (char*)(uintptr_t)message->arguments.list[results[i].argument - 1].va;
        } else {
            changed = true;
        }
        parts[header.msg_iovlen++] = (struct iovec){at + results[i].offset, results[i].length};
        size += results[i].length;
    }
    got = receive_message(fd, &header, 0);
    if (got >= 0) {
        take_fds(&header, answer);
    }
    if (got < 0 || got != size || header.msg_flags & MSG_TRUNC) {
        dingo_answer_close(answer);
        answer->reply.num_fixups = 0;
        return got < 0 ? got : -EIO;
    }
    if (changed) {
        memcpy(attributes, request->payload, request->payload_len);
        dingo_take_ioctl((void*)attributes, request->payload_len, ioctl);
        got = dingo_copy_to((void*)(uintptr_t)request->arg, attributes, request->payload_len);
        if (got < 0) {
            dingo_answer_close(answer);
            answer->reply.num_fixups = 0;
            return got;
        }
    }
    return 0;
}

/* The card's death is also seen on the connection: a child forked meanwhile may hold the other
 * end of the reply socket. */
static long wait_for_answer(int fd, int reply_fd, const struct message* message,
                            const struct dingo_request* request, struct dingo_answer* answer) {
    for (;;) {
        struct pollfd wait[2] = {{.fd = reply_fd, .events = POLLIN}, {.fd = fd, .events = 0}};
        long result = DINGO_SYS(SYS_ppoll, wait, 2, NULL, NULL, 0);

        if (result < 0 && result != -EINTR) {
            return result;
        }
        if (result > 0) {
            result = receive(reply_fd, message, request, answer);
            if (result != -EAGAIN) {
                return result;
            }
            if (wait[1].revents) {
                return -EIO;
            }
        }
    }
}

static long exchange(int fd, struct message* message, const struct dingo_request* request,
                     struct dingo_answer* answer) {
    int pair[2];
    long result;

    answer->num_fds = 0;
    answer->reply.num_fixups = 0;
    result = DINGO_SYS(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
    if (result < 0) {
        return result;
    }
    message->head.version = DINGO_UVERBS_VERSION;
    message->head.type = request->type;
    message->head.pid = (uint32_t)DINGO_SYS(SYS_getpid);
    message->head.arg = request->arg;
    message->head.arg2 = request->arg2;
    message->head.payload_len = (uint32_t)request->payload_len;
    message->head.num_arguments = message->arguments.count;
    result = send_message(fd, message, request, pair[1]);
    dingo_sys_close(pair[1]);
    if (result == 0) {
        result = wait_for_answer(fd, pair[0], message, request, answer);
    }
    dingo_sys_close(pair[0]);
    return result;
}

/* libibverbs reports only that it cannot open the device: print the reason, once. */
static void say_no_proc(const char* file, long error) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    char text[256];

    if (!atomic_flag_test_and_set(&said)) {
        int bytes = snprintf(text, sizeof(text),
                             "dingo: %s: %s; no card can be used without it: mount /proc, readable "
                             "and writable, where this program runs\n",
                             file, strerror((int)-error));

        (void)DINGO_SYS(SYS_write, 2, text, (size_t)bytes);
    }
}

/* What HELLO hands over: a descriptor, or DINGO_NO_MEMORY to a card of another user, and to
 * rdma_cm, which registers nothing. -EACCES: of one whom nobody named. */
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
    struct message message = {.num_fds = 0};
    long result;

    /* -1: another thread is sending HELLO */
    while (before != self && (before == -1 || !atomic_compare_exchange_weak(said, &before, -1))) {
        (void)DINGO_SYS(SYS_sched_yield);
        before = atomic_load(said);
    }
    if (before == self) {
        return 0;
    }
    result = message.fds[0] = open_memory(fd, memory);
    if (result >= 0) {
        message.num_fds = message.fds[0] != DINGO_NO_MEMORY;
        result = exchange(fd, &message, &request, &answer);
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

/* The answer to NEED_FDS. */
static void add_fds(struct message* message, const struct dingo_uverbs_reply* reply) {
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

/* The answer to NEED_SHARING. -errno: there is no memory for it. */
static int add_segments(struct message* message, const struct dingo_uverbs_reply* reply) {
    message->shared = (struct dingo_shared_range){
        .va = reply->need_va,
        .length = reply->need_length,
        .writable = reply->need_writable != 0,
        .segments = message->segments,
        .max_segments = DINGO_UVERBS_MAX_SEGMENTS,
        .fds = message->fds,
        .max_fds = ANY_FDS,
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

/* The answer to both, where the range is a GPU's. */
static enum dingo_gpu_answer add_gpu(struct message* message,
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

static void close_gpu(struct message* message) {
    if (message->head.flags & DINGO_UVERBS_GPU) {
        dingo_gpu_close(&message->gpu);
    }
}

long dingo_request_plain(int fd, const struct dingo_request* request, struct dingo_answer* answer) {
    struct message message = {.num_fds = 0};
    long result = exchange(fd, &message, request, answer);

    return result < 0 ? result : answer->reply.result;
}

long dingo_request_with(int fd, const struct dingo_request* request, int carried,
                        struct dingo_answer* answer) {
    struct message message = {.fds = {carried}, .num_fds = 1};
    long result = exchange(fd, &message, request, answer);

    return result < 0 ? result : answer->reply.result;
}

/* What a card of another user may ask for. */
static long check_wish(const struct dingo_named* named, const struct dingo_uverbs_reply* reply) {
    if (reply->type == DINGO_UVERBS_NEED_SHARING &&
        !dingo_foreign_names_range(named, reply->need_va, reply->need_length)) {
        return dingo_foreign_refuse("have memory that nobody registers");
    }
    if (reply->type == DINGO_UVERBS_NEED_FDS) {
        for (uint32_t i = 0; i < reply->num_need_fds && i < DINGO_UVERBS_MAX_NEED_FDS; i++) {
            if (!dingo_foreign_names_fd(named, reply->need_fds[i])) {
                return dingo_foreign_refuse("have a descriptor that the request does not name");
            }
        }
    }
    return 0;
}

/* The segments, in the order of their addresses or not, hold all of the range. */
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

/* A number is stored where the card may write, or as that of a new object in an attribute of an
 * ioctl; elsewhere it is left out. */
static void check_fixups(const struct message* message, const struct dingo_request* request,
                         struct dingo_answer* answer) {
    for (uint32_t i = 0; i < answer->reply.num_fixups; i++) {
        struct dingo_uverbs_fixup* fixup = &answer->fixups[i];
        bool fits =
            request->type == DINGO_UVERBS_IOCTL && fixup->size == sizeof(uint64_t) &&
            dingo_is_number_at(request->payload, request->payload_len, fixup->va - request->arg);

        for (uint32_t n = 0; n < message->arguments.count; n++) {
            uint64_t va = message->arguments.list[n].va;
            uint64_t length = message->arguments.list[n].length;

            fits |= message->arguments.list[n].flags & DINGO_UVERBS_ROOM && fixup->va >= va &&
                    fixup->size <= length && fixup->va - va <= length - fixup->size;
        }
        fixup->size = fits ? fixup->size : 0; /* install() leaves it out */
    }
}

/* `foreign`: to a card of another user. */
static long request_in_rounds(int fd, const struct dingo_request* request, bool foreign,
                              struct dingo_answer* answer) {
    struct message message = {.head.flags = request->flags, .num_fds = 0};
    struct dingo_named named = {.fd = -1};
    struct dingo_request seen = *request;
    char begin[128] __attribute__((aligned(8))); /* of a command, behind which no address is */
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
    /* once each at most */
    for (int round = 0; round < 3; round++) {
        result = exchange(fd, &message, request, answer);
        dingo_shared_close(&message.shared);
        close_gpu(&message);
        if (result < 0) {
            return result;
        }
        if (answer->reply.type == DINGO_UVERBS_DONE) {
            if (message.head.flags & DINGO_UVERBS_GPU && answer->reply.result < 0) {
                dingo_gpu_say_refused(answer->reply.result);
            }
            check_fixups(&message, request, answer);
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
                    "register memory that cannot be shared: whole pages of private memory can");
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

void dingo_answer_close(struct dingo_answer* answer) {
    for (unsigned i = 0; i < answer->num_fds; i++) {
        if (answer->fds[i] >= 0) {
            dingo_sys_close(answer->fds[i]);
        }
    }
    answer->num_fds = 0;
}

/* The process that serves a card may read and write all memory of its clients (HELLO), unless it is
 * a card of another user. Such a one is used when the caller names its user: libibverbs believes
 * what a device tells it. */
static bool may_be_used(int fd, const char* path) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    uid_t user = (uid_t)-1;
    int owner = dingo_owner_of(fd, &user);
    char text[512];

    if (owner == DINGO_OWNER_OURS || owner == DINGO_OWNER_NAMED) {
        return true;
    }
    if (!atomic_flag_test_and_set(&said)) {
        int bytes = snprintf(text, sizeof(text),
                             "dingo: %.300s belongs to user %u, who may harm a program that uses "
                             "it: to use it, say dingo run --trust-owner\n",
                             path, user);

        (void)DINGO_SYS(SYS_write, 2, text, (size_t)bytes);
    }
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
    /* a path may be longer than sun_path is */
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
            /* the error of open() on a device whose driver is gone */
            fd = result == -ECONNREFUSED ? -ENXIO : (int)result;
        } else if (!may_be_used(fd, path)) {
            dingo_sys_close(fd);
            fd = -EACCES;
        }
    }
    dingo_sys_close(place);
    return fd;
}
