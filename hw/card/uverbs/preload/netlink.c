/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA netlink of the view's devices in place of the kernel's, which knows nothing of them.
 *
 * What the application gets is a datagram socket connected to itself. What it sends there goes to
 * each card of the view (DINGO_UVERBS_NETLINK); the answers are put into its own queue, so that
 * poll(), O_NONBLOCK and copies of the descriptor work as ever. What does not fit waits here until
 * the application reads.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "descriptors.h"
#include "paths.h"
#include "request.h"
#include "sys.h"

#define MAX_SOCKETS 64
#define MAX_REQUEST 4096

/* Messages that wait for room in the queue of the socket with this inode. */
struct backlog {
    ino_t inode; /* 0: free */
    char* bytes;
    size_t length;
    size_t sent;
};

static pthread_mutex_t backlog_lock = PTHREAD_MUTEX_INITIALIZER;
static struct backlog backlogs[MAX_SOCKETS];

static bool is_netlink(int fd) {
    return DINGO_UNLIKELY(dingo_fd_entry(fd)) &&
           dingo_fd_kind(dingo_fd_entry(fd)) == DINGO_FD_NETLINK;
}

static ino_t inode_of(int fd) {
    struct stat st;

    /* AT_EMPTY_PATH: of the descriptor itself, past our own fstat() */
    return DINGO_SYS(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 ? st.st_ino : 0;
}

/* The backlog of `inode`, or a free one when `make`; NULL: none. Under the lock. */
static struct backlog* backlog_of(ino_t inode, bool make) {
    struct backlog* free_one = NULL;

    for (int i = 0; i < MAX_SOCKETS; i++) {
        if (backlogs[i].inode == inode) {
            return &backlogs[i];
        }
        if (backlogs[i].inode == 0) {
            free_one = &backlogs[i];
        }
    }
    if (make && free_one) {
        *free_one = (struct backlog){.inode = inode};
        return free_one;
    }
    return NULL;
}

static void drop(struct backlog* b) {
    free(b->bytes);
    *b = (struct backlog){.inode = 0};
}

/* Puts as many messages into the socket's queue as have room; one datagram each. Under the lock. */
static void push(int fd, struct backlog* b) {
    while (b->sent < b->length) {
        const struct nlmsghdr* message = (const void*)(b->bytes + b->sent);

        if (DINGO_SYS(SYS_sendto, fd, message, message->nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL,
                      NULL, 0) < 0) {
            return;
        }
        b->sent += NLMSG_ALIGN(message->nlmsg_len);
    }
    drop(b);
}

static void refill(int fd) {
    struct backlog* b;

    pthread_mutex_lock(&backlog_lock);
    b = backlog_of(inode_of(fd), false);
    if (b) {
        push(fd, b);
    }
    pthread_mutex_unlock(&backlog_lock);
}

static bool append(struct backlog* b, const void* bytes, size_t length) {
    char* grown = realloc(b->bytes, b->length + NLMSG_ALIGN(length));

    if (!grown) {
        return false;
    }
    memset(grown + b->length, 0, NLMSG_ALIGN(length));
    memcpy(grown + b->length, bytes, length);
    b->bytes = grown;
    b->length += NLMSG_ALIGN(length);
    return true;
}

/* NLMSG_DONE of a dump, or NLMSG_ERROR with the request's header; error: 0 or -errno. */
static bool append_end(struct backlog* b, const struct nlmsghdr* request, uint16_t type,
                       int error) {
    struct {
        struct nlmsghdr head;
        int error;
        struct nlmsghdr request;
    } end = {.head = {.nlmsg_type = type, .nlmsg_seq = request->nlmsg_seq},
             .error = error,
             .request = *request};

    end.head.nlmsg_len = type == NLMSG_DONE ? NLMSG_LENGTH(sizeof(int)) : sizeof(end);
    end.head.nlmsg_flags = type == NLMSG_DONE ? NLM_F_MULTI : 0;
    return append(b, &end, end.head.nlmsg_len);
}

/* Appends a card's messages to `b`; 0 or -errno. */
static long ask_card(const char* path, const struct nlmsghdr* request, struct backlog* b) {
    const struct dingo_request question = {
        .type = DINGO_UVERBS_NETLINK, .payload = request, .payload_len = request->nlmsg_len};
    struct dingo_answer answer;
    char buffer[4096];
    long result;
    int card = dingo_connect(path, O_CLOEXEC);

    if (card < 0) {
        return card;
    }
    result = dingo_request_plain(card, &question, &answer);
    if (result >= 0 && answer.num_fds > 0) {
        long got;
        long at = 0;

        while ((got = DINGO_SYS(SYS_pread64, answer.fds[0], buffer, sizeof(buffer), at)) > 0) {
            if (!append(b, buffer, (size_t)got)) {
                got = -ENOMEM;
                break;
            }
            at += got;
        }
        result = got;
    }
    dingo_answer_close(&answer);
    dingo_sys_close(card);
    return result;
}

/* Every card of the view; what none knows is -ENODEV. A view has a socket for each card. */
static long ask_cards(const struct nlmsghdr* request, struct backlog* b) {
    bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    char path[PATH_MAX];
    long result = dump ? 0 : -ENODEV;
    struct dirent* entry;
    DIR* directory;

    dingo_explain_view();
    snprintf(path, sizeof(path), "%s/dev/infiniband", dingo_view());
    directory = opendir(path);
    while (directory && (entry = readdir(directory)) != NULL) {
        long answer;

        if (strncmp(entry->d_name, "uverbs", 6) != 0) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/dev/infiniband/%s", dingo_view(), entry->d_name);
        answer = ask_card(path, request, b);
        if (!dump && answer >= 0) {
            result = 0;
            break;
        }
        /* another card's index; a card that has died since */
        if (answer < 0 && answer != -ENODEV && answer != -ENXIO && answer != -EIO) {
            result = answer;
        }
    }
    if (directory) {
        closedir(directory);
    }
    return result;
}

static long serve(int fd, const struct nlmsghdr* request) {
    bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    struct backlog answer = {.inode = 0};
    struct backlog* b;
    long result = ask_cards(request, &answer);
    bool whole = true;

    if (result < 0) {
        answer.length = 0;
        whole = append_end(&answer, request, NLMSG_ERROR, (int)result);
    } else if (dump) {
        whole = append_end(&answer, request, NLMSG_DONE, 0);
    } else if (request->nlmsg_flags & NLM_F_ACK) {
        whole = append_end(&answer, request, NLMSG_ERROR, 0);
    }
    pthread_mutex_lock(&backlog_lock);
    b = whole ? backlog_of(inode_of(fd), true) : NULL;
    if (!b || !append(b, answer.bytes, answer.length)) {
        whole = false;
    } else {
        push(fd, b);
    }
    pthread_mutex_unlock(&backlog_lock);
    free(answer.bytes);
    return whole ? 0 : -ENOBUFS;
}

/* What was sent: one request or several. Returns the bytes taken or -errno. */
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
            break; /* as the kernel: what is no message is passed over */
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
    struct backlog* old;
    long result;
    int fd = (int)DINGO_SYS(SYS_socket, AF_UNIX,
                            SOCK_DGRAM | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK)), 0);

    if (fd < 0) {
        return fd;
    }
    /* with the family alone the kernel chooses an abstract address */
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
    pthread_mutex_lock(&backlog_lock);
    old = backlog_of(inode_of(fd), false); /* of a socket that was closed unread */
    if (old) {
        drop(old);
    }
    pthread_mutex_unlock(&backlog_lock);
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

DINGO_EXPORT ssize_t recv(int fd, void* bytes, size_t length, int flags) {
    if (is_netlink(fd)) {
        refill(fd);
    }
    return DINGO_REAL(ssize_t(*)(int, void*, size_t, int), recv)(fd, bytes, length, flags);
}

DINGO_EXPORT ssize_t recvfrom(int fd, void* bytes, size_t length, int flags, struct sockaddr* from,
                              socklen_t* from_length) {
    ssize_t (*real)(int, void*, size_t, int, struct sockaddr*, socklen_t*) =
        DINGO_REAL(ssize_t(*)(int, void*, size_t, int, struct sockaddr*, socklen_t*), recvfrom);
    ssize_t got;

    if (!is_netlink(fd)) {
        return real(fd, bytes, length, flags, from, from_length);
    }
    refill(fd);
    got = real(fd, bytes, length, flags, NULL, NULL);
    if (got >= 0) {
        name(from, from_length, 0);
    }
    return got;
}

DINGO_EXPORT ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
    ssize_t (*real)(int, struct msghdr*, int) =
        DINGO_REAL(ssize_t(*)(int, struct msghdr*, int), recvmsg);
    socklen_t room = message ? message->msg_namelen : 0;
    ssize_t got;

    if (!is_netlink(fd)) {
        return real(fd, message, flags);
    }
    refill(fd);
    got = real(fd, message, flags);
    if (got >= 0) {
        message->msg_namelen = room;
        name(message->msg_name, &message->msg_namelen, 0);
    }
    return got;
}
