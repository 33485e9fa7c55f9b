/* SPDX-License-Identifier: BSD-2-Clause */
#include "exchange.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "caller.h"
#include "say.h"
#include "sys.h"

/* Buffers for descriptors sent and received. */
union sent_control {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int) * (1 + DINGO_UVERBS_MAX_PIECES))];
};
union control {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int) * DINGO_UVERBS_MAX_FDS)];
};

static long send_message(int fd, struct dingo_message* message, const struct dingo_request* request,
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
        return -ENOMEM; /* the card would receive a truncated message and close the connection */
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
            /* the application made its descriptor non-blocking, which must not affect a request */
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

static bool has_room(const struct dingo_message* message, const struct dingo_request* request,
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

/* The part of an answer before the results' bytes. */
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

/* Parses the head of the answer without removing the answer from the socket. Returns the head's
 * size or -errno. */
static long peek(int fd, const struct dingo_message* message, const struct dingo_request* request,
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
        /* card and library must be of the same version */
        DINGO_SAY_ONCE(
            "the card speaks protocol version %u, this library version %u: restart the card from "
            "the same build as this library",
            head->reply.version, DINGO_UVERBS_VERSION);
    }
    if (got < (long)sizeof(head->reply) || head->reply.version != DINGO_UVERBS_VERSION ||
        head->reply.num_fixups > DINGO_UVERBS_MAX_FDS ||
        /* only a successful answer may contain results */
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

/* Receives the answer. The kernel copies results directly to their destinations, so that an
 * invalid address gives EFAULT. */
static long receive(int fd, const struct dingo_message* message,
                    const struct dingo_request* request, struct dingo_answer* answer) {
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

/* The card's death is also detected on the connection itself: a child forked meanwhile may hold
 * the other end of the reply socket. */
static long wait_for_answer(int fd, int reply_fd, const struct dingo_message* message,
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

long dingo_exchange(int fd, struct dingo_message* message, const struct dingo_request* request,
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

void dingo_check_fixups(const struct dingo_message* message, const struct dingo_request* request,
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
        fixup->size = fits ? fixup->size : 0; /* size 0: install() skips it */
    }
}

void dingo_answer_close(struct dingo_answer* answer) {
    for (unsigned i = 0; i < answer->num_fds; i++) {
        if (answer->fds[i] >= 0) {
            dingo_sys_close(answer->fds[i]);
        }
    }
    answer->num_fds = 0;
}
