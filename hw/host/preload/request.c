/* SPDX-License-Identifier: BSD-2-Clause */
#include "request.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "descriptors.h"
#include "sharing.h"
#include "sys.h"

#define ANY_FDS (DINGO_UVERBS_MAX_FDS - 1)

/* A request on its way: what is sent besides its own fields. */
struct message {
    struct dingo_uverbs_request head;
    struct dingo_uverbs_segment segments[DINGO_UVERBS_MAX_SEGMENTS];
    int fds[ANY_FDS]; /* after the reply socket */
    unsigned num_fds;
    struct dingo_shared_range shared; /* where the segments and descriptors are from */
};

union control {
    struct cmsghdr head;
    char space[CMSG_SPACE(sizeof(int) * DINGO_UVERBS_MAX_FDS)];
};

static long send_message(int fd, struct message* message, const struct dingo_request* request,
                         int reply_fd) {
    union control control;
    struct iovec parts[3] = {
        {&message->head, sizeof(message->head)},
        {message->segments, message->head.num_segments * sizeof(message->segments[0])},
        {(void*)(uintptr_t)request->payload, request->payload_len},
    };
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 3, .msg_control = &control};
    size_t bytes = sizeof(int) * (1 + message->num_fds);

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

static long receive(int fd, struct dingo_answer* answer) {
    union control control;
    struct iovec parts[2] = {
        {&answer->reply, sizeof(answer->reply)},
        {answer->fixups, sizeof(answer->fixups)},
    };
    struct msghdr header = {.msg_iov = parts,
                            .msg_iovlen = 2,
                            .msg_control = &control,
                            .msg_controllen = sizeof(control)};
    long got;

    do {
        got = DINGO_SYS(SYS_recvmsg, fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (got == -EINTR);
    if (got < 0) {
        return got;
    }
    take_fds(&header, answer);
    if (got < (long)sizeof(answer->reply) || answer->reply.version != DINGO_UVERBS_VERSION ||
        answer->reply.num_fixups > DINGO_UVERBS_MAX_FDS ||
        got !=
            (long)(sizeof(answer->reply) + answer->reply.num_fixups * sizeof(answer->fixups[0]))) {
        dingo_answer_close(answer);
        answer->reply.num_fixups = 0;
        return -EIO;
    }
    return 0;
}

/* The card's death is also seen on the connection: a child forked meanwhile may hold the other
 * end of the reply socket. */
static long wait_for_answer(int fd, int reply_fd, struct dingo_answer* answer) {
    for (;;) {
        struct pollfd wait[2] = {{.fd = reply_fd, .events = POLLIN}, {.fd = fd, .events = 0}};
        long result = DINGO_SYS(SYS_ppoll, wait, 2, NULL, NULL, 0);

        if (result < 0 && result != -EINTR) {
            return result;
        }
        if (result > 0) {
            result = receive(reply_fd, answer);
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
    result = send_message(fd, message, request, pair[1]);
    dingo_sys_close(pair[1]);
    if (result == 0) {
        result = wait_for_answer(fd, pair[0], answer);
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

int dingo_hello(int fd, uint32_t* rdev) {
    const struct dingo_request request = {.type = DINGO_UVERBS_HELLO};
    pid_t self = (pid_t)DINGO_SYS(SYS_getpid);
    _Atomic pid_t* said = dingo_fd_hello(fd);
    pid_t before = atomic_load(said);
    struct dingo_answer answer;
    struct message message = {.num_fds = 1};
    long result;

    /* -1: another thread is sending HELLO */
    while (before != self && (before == -1 || !atomic_compare_exchange_weak(said, &before, -1))) {
        (void)DINGO_SYS(SYS_sched_yield);
        before = atomic_load(said);
    }
    if (before == self) {
        return 0;
    }
    message.fds[0] = dingo_sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    result = message.fds[0];
    if (result >= 0) {
        result = exchange(fd, &message, &request, &answer);
        dingo_sys_close(message.fds[0]);
        if (result == 0) {
            result = answer.reply.result;
            dingo_answer_close(&answer);
        }
    } else if (result != -EMFILE && result != -ENFILE) {
        say_no_proc("/proc/self/mem", result);
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

/* The answer to NEED_SHARING. */
static void add_segments(struct message* message, const struct dingo_uverbs_reply* reply) {
    message->shared = (struct dingo_shared_range){
        .va = reply->need_va,
        .length = reply->need_length,
        .writable = reply->need_writable != 0,
        .segments = message->segments,
        .max_segments = DINGO_UVERBS_MAX_SEGMENTS,
        .fds = message->fds,
        .max_fds = ANY_FDS,
    };

    message->head.flags |= DINGO_UVERBS_SHARED;
    if (!dingo_share(&message->shared)) {
        message->head.flags |= DINGO_UVERBS_FAULT;
    }
    message->head.num_segments = message->shared.num_segments;
    message->num_fds = message->shared.num_fds;
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

long dingo_request(int fd, const struct dingo_request* request, struct dingo_answer* answer) {
    struct message message = {.head.flags = request->flags, .num_fds = 0};
    long result;

    answer->num_fds = 0;
    answer->reply.num_fixups = 0;
    if (request->payload_len > DINGO_UVERBS_MAX_MESSAGE - sizeof(message.head)) {
        return -EINVAL;
    }
    result = dingo_hello(fd, NULL);
    if (result < 0) {
        return result;
    }
    /* once each at most */
    for (int round = 0; round < 3; round++) {
        result = exchange(fd, &message, request, answer);
        dingo_shared_close(&message.shared);
        if (result < 0) {
            return result;
        }
        switch (answer->reply.type) {
            case DINGO_UVERBS_DONE:
                return answer->reply.result;
            case DINGO_UVERBS_NEED_SHARING:
                dingo_answer_close(answer);
                add_segments(&message, &answer->reply);
                break;
            case DINGO_UVERBS_NEED_FDS:
                dingo_answer_close(answer);
                add_fds(&message, &answer->reply);
                break;
            default:
                dingo_answer_close(answer);
                return -EIO;
        }
    }
    return -EIO;
}

void dingo_answer_close(struct dingo_answer* answer) {
    for (unsigned i = 0; i < answer->num_fds; i++) {
        if (answer->fds[i] >= 0) {
            dingo_sys_close(answer->fds[i]);
        }
    }
    answer->num_fds = 0;
}

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

/* The process that serves a card reads and writes all memory of its clients (HELLO). So it must
 * run as our own user, as root, or as a user whom the caller trusts by name. */
static bool is_trusted(int fd, const char* path) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct ucred owner;
    socklen_t length = sizeof(owner);
    char text[512];

    if (DINGO_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &owner, &length) < 0) {
        return false;
    }
    if (owner.uid == 0 || (long)owner.uid == DINGO_SYS(SYS_geteuid) ||
        is_named(getenv("DINGO_TRUST_OWNER"), owner.uid)) {
        return true;
    }
    if (!atomic_flag_test_and_set(&said)) {
        int bytes =
            snprintf(text, sizeof(text),
                     "dingo: %.300s belongs to user %u, who could read and write all memory "
                     "of this process: to use it, say dingo run --trust-owner\n",
                     path, owner.uid);

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
        } else if (!is_trusted(fd, path)) {
            dingo_sys_close(fd);
            fd = -EACCES;
        }
    }
    dingo_sys_close(place);
    return fd;
}
