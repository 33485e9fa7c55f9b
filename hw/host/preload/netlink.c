/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA netlink for the view's devices, which the kernel does not know.
 *
 * The application gets a datagram socket that is connected to itself. Each request that it sends
 * there goes to the cards of the view (DINGO_UVERBS_NETLINK), one after the other. The answers are
 * put into the socket's own queue, so that poll(), O_NONBLOCK and copies of the descriptor work as
 * usual. A dump comes in pieces: behind a message the queue has a bookmark, and reading the
 * bookmark fetches the next message in its place. So no state is kept here, and unread messages are
 * freed with the socket.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "descriptors.h"
#include "paths.h"
#include "request.h"
#include "sys.h"

#define MAX_REQUEST 4096
#define MAX_MESSAGE 4096

/* A message that is hidden from applications. A reader that bypasses this library ignores
 * NLMSG_NOOP. */
struct bookmark {
    struct nlmsghdr head; /* NLMSG_NOOP */
    uint32_t magic;
    uint32_t device; /* N of the next uverbsN to ask; the next higher one if it does not exist */
    uint64_t from;   /* position at which that card's dump continues */
    struct nlmsghdr request;
    char rest[MAX_REQUEST];
};
#define BOOKMARK_MAGIC 0x44646e67u

/* Held while a queue is read, so that only one thread acts on a bookmark. */
static pthread_mutex_t read_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_netlink(int fd) {
    int domain = 0;
    socklen_t length = sizeof(domain);

    if (DINGO_LIKELY(dingo_fd_kind(dingo_fd_entry(fd)) != DINGO_FD_NETLINK)) {
        return false;
    }
    if (DINGO_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
        domain == AF_UNIX) {
        return true;
    }
    dingo_fd_forget(fd); /* another file, after a close that was not intercepted */
    return false;
}

/* Appends to the socket's own queue. Returns 0 or -errno. */
static long put(int fd, const void* message, size_t length) {
    long result = DINGO_SYS(SYS_sendto, fd, message, length, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

    /* ENOBUFS is the kernel's error for a netlink socket that is read too slowly */
    return result == -EAGAIN ? -ENOBUFS : result < 0 ? result : 0;
}

/* Puts NLMSG_DONE of a dump, or NLMSG_ERROR with the request's header; error is 0 or -errno. */
static long put_end(int fd, const struct nlmsghdr* request, uint16_t type, int error) {
    struct {
        struct nlmsghdr head;
        int error;
        struct nlmsghdr request;
    } end = {.head = {.nlmsg_type = type, .nlmsg_seq = request->nlmsg_seq},
             .error = error,
             .request = *request};

    end.head.nlmsg_len = type == NLMSG_DONE ? NLMSG_LENGTH(sizeof(int)) : sizeof(end);
    end.head.nlmsg_flags = type == NLMSG_DONE ? NLM_F_MULTI : 0;
    return put(fd, &end, end.head.nlmsg_len);
}

/* Asks a card for its answer from `*from` on, and sets `*from` to where it continues (0: end).
 * Returns 1 if a message was put into the queue, 0 if the card had none, or -errno. */
static long ask_card(int fd, const char* path, const struct nlmsghdr* request, uint64_t* from) {
    const struct dingo_request question = {.type = DINGO_UVERBS_NETLINK,
                                           .arg = *from,
                                           .payload = request,
                                           .payload_len = request->nlmsg_len};
    struct dingo_answer answer;
    _Alignas(struct nlmsghdr) char message[MAX_MESSAGE];
    const struct nlmsghdr* head = (const void*)message;
    long result;
    int card = dingo_connect(path, O_CLOEXEC);

    *from = 0;
    if (card < 0) {
        return card;
    }
    result = dingo_request_plain(card, &question, &answer);
    if (result >= 0 && answer.num_fds > 0) {
        result = DINGO_SYS(SYS_pread64, answer.fds[0], message, sizeof(message), 0);
        if (result >= (long)sizeof(*head) && head->nlmsg_len <= result) {
            long error = put(fd, message, head->nlmsg_len);

            result = error < 0 ? error : 1;
            /* without a message there is no position to continue from */
            *from = answer.reply.next;
        } else if (result > 0) {
            result = -EIO;
        }
    }
    dingo_answer_close(&answer);
    dingo_sys_close(card);
    return result;
}

/* Returns the smallest device number of the view that is at least `device`, or -1. */
static long device_from(uint32_t device) {
    char path[PATH_MAX];
    struct dirent* entry;
    long found = -1;
    DIR* directory;

    snprintf(path, sizeof(path), "%s/dev/infiniband", dingo_view());
    directory = opendir(path);
    while (directory && (entry = readdir(directory)) != NULL) {
        char* end;
        unsigned long number;

        if (strncmp(entry->d_name, "uverbs", 6) != 0) {
            continue;
        }
        number = strtoul(entry->d_name + 6, &end, 10);
        if (*end == '\0' && end != entry->d_name + 6 && number >= device && number <= INT32_MAX &&
            (found < 0 || (long)number < found)) {
            found = (long)number;
        }
    }
    if (directory) {
        closedir(directory);
    }
    return found;
}

/* Asks the cards until one has answered. Puts its message and a bookmark for the rest into the
 * queue, or the message that ends the answer. Returns 0, or -errno if the queue is full. */
static long answer(int fd, struct bookmark* mark) {
    const struct nlmsghdr* request = &mark->request;
    bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    char path[PATH_MAX];
    long result = 0;
    long device;

    while ((device = device_from(mark->device)) >= 0) {
        /* if the bookmark's card has vanished, start at the beginning of the next one */
        mark->from = (uint32_t)device == mark->device ? mark->from : 0;
        snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs%ld", dingo_view(), device);
        result = ask_card(fd, path, request, &mark->from);
        if (result == -ENOBUFS) {
            return result;
        }
        mark->device = (uint32_t)device + (mark->from == 0);
        /* the index belongs to another card, or the card has died */
        if (result == -ENODEV || result == -ENXIO || result == -EIO) {
            continue;
        }
        if (result < 0 || !dump) {
            break;
        }
        if (result > 0) {
            return put(fd, mark, mark->head.nlmsg_len);
        }
    }
    if (dump) {
        return result >= 0 || device < 0 ? put_end(fd, request, NLMSG_DONE, 0)
                                         : put_end(fd, request, NLMSG_ERROR, (int)result);
    }
    if (device < 0) {
        return put_end(fd, request, NLMSG_ERROR, -ENODEV);
    }
    return result < 0 || request->nlmsg_flags & NLM_F_ACK
               ? put_end(fd, request, NLMSG_ERROR, result < 0 ? (int)result : 0)
               : 0;
}

static long serve(int fd, const struct nlmsghdr* request) {
    struct bookmark mark = {.magic = BOOKMARK_MAGIC};

    dingo_explain_view();
    mark.head.nlmsg_type = NLMSG_NOOP;
    mark.head.nlmsg_len = (uint32_t)offsetof(struct bookmark, request) + request->nlmsg_len;
    memcpy((char*)&mark + offsetof(struct bookmark, request), request, request->nlmsg_len);
    return answer(fd, &mark);
}

/* Peeks at the next message of the queue; if it is a bookmark, removes and processes it. Returns
 * 0 for a message for the application, 1 for a bookmark, -EAGAIN if the queue is empty. Call it
 * with the lock held. */
static long pass_bookmark(int fd) {
    struct bookmark mark;
    long got =
        DINGO_SYS(SYS_recvfrom, fd, &mark, sizeof(mark), MSG_PEEK | MSG_DONTWAIT, NULL, NULL);

    if (got < 0) {
        return got;
    }
    if (got < (long)(offsetof(struct bookmark, request) + sizeof(mark.request)) ||
        mark.head.nlmsg_type != NLMSG_NOOP || mark.magic != BOOKMARK_MAGIC ||
        mark.head.nlmsg_len != got ||
        mark.request.nlmsg_len != got - (long)offsetof(struct bookmark, request)) {
        return 0;
    }
    (void)DINGO_SYS(SYS_recvfrom, fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
    got = answer(fd, &mark);
    return got < 0 ? got : 1;
}

/* Processes sent data: one or several requests. Returns the number of bytes taken or -errno. */
static long take(int fd, const struct iovec* parts, size_t num_parts) {
    _Alignas(struct nlmsghdr) char bytes[MAX_REQUEST];
    size_t length = 0;

    for (size_t i = 0; i < num_parts; i++) {
        if (parts[i].iov_len > sizeof(bytes) - length) {
            return -EMSGSIZE;
        }
        memcpy(bytes + length, parts[i].iov_base, parts[i].iov_len);
        length += parts[i].iov_len;
    }
    for (size_t at = 0; at < length;) {
        const struct nlmsghdr* request = (const void*)(bytes + at);
        long result;

        if (length - at < sizeof(*request) || request->nlmsg_len < sizeof(*request) ||
            request->nlmsg_len > length - at) {
            break; /* as in the kernel, malformed data is ignored */
        }
        result = serve(fd, request);
        if (result < 0) {
            return result;
        }
        at += NLMSG_ALIGN(request->nlmsg_len);
    }
    return (long)length;
}

static int open_netlink(int type) {
    struct sockaddr_un self = {.sun_family = AF_UNIX};
    socklen_t length = sizeof(self);
    long result;
    int fd = (int)DINGO_SYS(SYS_socket, AF_UNIX,
                            SOCK_DGRAM | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0);

    if (fd < 0) {
        return fd;
    }
    /* bind() with only the family makes the kernel choose an abstract address */
    result = DINGO_SYS(SYS_bind, fd, &self, sizeof(self.sun_family));
    if (result == 0) {
        result = DINGO_SYS(SYS_getsockname, fd, &self, &length);
    }
    if (result == 0) {
        result = DINGO_SYS(SYS_connect, fd, &self, length);
    }
    if (result == 0 && !dingo_fd_set(fd, DINGO_FD_NETLINK, 0)) {
        result = -EMFILE;
    }
    if (result < 0) {
        dingo_sys_close(fd);
        return (int)result;
    }
    return fd;
}

DINGO_EXPORT int socket(int domain, int type, int protocol) {
    int (*real)(int, int, int) = DINGO_REAL(int (*)(int, int, int), socket);
    int fd;

    if (DINGO_UNLIKELY(domain == AF_NETLINK && protocol == NETLINK_RDMA) && dingo_view()) {
        return (int)dingo_sys_result(open_netlink(type));
    }
    fd = real ? real(domain, type, protocol)
              : (int)dingo_sys_result(DINGO_SYS(SYS_socket, domain, type, protocol));
    if (DINGO_UNLIKELY(dingo_fd_entry(fd))) {
        dingo_fd_forget(fd);
    }
    return fd;
}

static void name(struct sockaddr* to, socklen_t* length, uint32_t port) {
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_pid = port};

    if (to && length) {
        memcpy(to, &address, *length < sizeof(address) ? *length : sizeof(address));
        *length = sizeof(address);
    }
}

DINGO_EXPORT int bind(int fd, const struct sockaddr* address, socklen_t length) {
    return is_netlink(fd) ? 0
                          : DINGO_REAL(int (*)(int, const struct sockaddr*, socklen_t), bind)(
                                fd, address, length);
}

DINGO_EXPORT int getsockname(int fd, struct sockaddr* address, socklen_t* length) {
    if (is_netlink(fd)) {
        name(address, length, (uint32_t)DINGO_SYS(SYS_getpid));
        return 0;
    }
    return DINGO_REAL(int (*)(int, struct sockaddr*, socklen_t*), getsockname)(fd, address, length);
}

DINGO_EXPORT int setsockopt(int fd, int level, int option, const void* value, socklen_t length) {
    return is_netlink(fd) && level == SOL_NETLINK
               ? 0
               : DINGO_REAL(int (*)(int, int, int, const void*, socklen_t), setsockopt)(
                     fd, level, option, value, length);
}

DINGO_EXPORT ssize_t send(int fd, const void* bytes, size_t length, int flags) {
    if (is_netlink(fd)) {
        const struct iovec part = {(void*)(uintptr_t)bytes, length};

        return dingo_sys_result(take(fd, &part, 1));
    }
    return DINGO_REAL(ssize_t(*)(int, const void*, size_t, int), send)(fd, bytes, length, flags);
}

DINGO_EXPORT ssize_t sendto(int fd, const void* bytes, size_t length, int flags,
                            const struct sockaddr* to, socklen_t to_length) {
    if (is_netlink(fd)) {
        return send(fd, bytes, length, flags);
    }
    return DINGO_REAL(ssize_t(*)(int, const void*, size_t, int, const struct sockaddr*, socklen_t),
                      sendto)(fd, bytes, length, flags, to, to_length);
}

DINGO_EXPORT ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
    if (is_netlink(fd)) {
        return dingo_sys_result(take(fd, message->msg_iov, message->msg_iovlen));
    }
    return DINGO_REAL(ssize_t(*)(int, const struct msghdr*, int), sendmsg)(fd, message, flags);
}

/* recvmsg() of the next message for the application. Reads under the lock never block; waiting
 * is done by peeking, which removes nothing. */
static ssize_t read_message(int fd, struct msghdr* message, int flags) {
    ssize_t (*peek)(int, void*, size_t, int) =
        DINGO_REAL(ssize_t(*)(int, void*, size_t, int), recv);
    int cancel;
    long next;
    char byte;

    for (;;) {
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        pthread_mutex_lock(&read_lock);
        do {
            next = pass_bookmark(fd);
        } while (next > 0);
        if (next == 0) {
            next = DINGO_SYS(SYS_recvmsg, fd, message, flags | MSG_DONTWAIT);
        }
        pthread_mutex_unlock(&read_lock);
        (void)pthread_setcancelstate(cancel, NULL);
        if (next != -EAGAIN) {
            return dingo_sys_result(next);
        }
        if (peek(fd, &byte, sizeof(byte), MSG_PEEK | (flags & MSG_DONTWAIT)) < 0) {
            return -1;
        }
    }
}

DINGO_EXPORT ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
    socklen_t room = message ? message->msg_namelen : 0;
    ssize_t got;

    if (!is_netlink(fd)) {
        return DINGO_REAL(ssize_t(*)(int, struct msghdr*, int), recvmsg)(fd, message, flags);
    }
    got = read_message(fd, message, flags);
    if (got >= 0) {
        message->msg_namelen = room;
        name(message->msg_name, &message->msg_namelen, 0);
    }
    return got;
}

DINGO_EXPORT ssize_t recvfrom(int fd, void* bytes, size_t length, int flags, struct sockaddr* from,
                              socklen_t* from_length) {
    struct iovec part = {bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;

    if (!is_netlink(fd)) {
        return DINGO_REAL(ssize_t(*)(int, void*, size_t, int, struct sockaddr*, socklen_t*),
                          recvfrom)(fd, bytes, length, flags, from, from_length);
    }
    got = read_message(fd, &message, flags);
    if (got >= 0) {
        name(from, from_length, 0);
    }
    return got;
}

DINGO_EXPORT ssize_t recv(int fd, void* bytes, size_t length, int flags) {
    return is_netlink(fd)
               ? recvfrom(fd, bytes, length, flags, NULL, NULL)
               : DINGO_REAL(ssize_t(*)(int, void*, size_t, int), recv)(fd, bytes, length, flags);
}
