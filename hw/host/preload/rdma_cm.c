/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma_cm.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "caller.h"
#include "descriptors.h"
#include "foreign.h"
#include "paths.h"
#include "request.h"
#include "sys.h"

#define MAX_CARDS 64

/* A view of several cards has links to their sockets at VIEW/rdma_cm/0, 1, ... Returns false
 * after the last one. */
static bool card_path(unsigned card, char path[PATH_MAX]) {
    char target;

    return card < MAX_CARDS &&
           snprintf(path, PATH_MAX, "%s/rdma_cm/%u", dingo_view(), card) < PATH_MAX &&
           DINGO_SYS(SYS_readlinkat, AT_FDCWD, path, &target, 1) > 0;
}

/* A card receives connections to the other cards of the view (JOIN), so cards of other users
 * cannot be used with rdma_cm. */
static int connect_to(const char* path, int flags) {
    int fd = dingo_connect(path, flags);
    uid_t user;

    if (fd >= 0 && dingo_owner_of(fd, &user) != DINGO_OWNER_OURS) {
        dingo_sys_close(fd);
        return dingo_foreign_refuse("be used with rdma_cm");
    }
    return fd;
}

int dingo_rdma_cm_connect(const char* path, int flags, unsigned* card) {
    int fd = connect_to(path, flags);
    char other[PATH_MAX];

    for (*card = 0; fd < 0 && card_path(*card + 1, other); ++*card) {
        int next = connect_to(other, flags);

        fd = next >= 0 ? next : fd;
    }
    return fd;
}

void dingo_rdma_cm_join(int fd, unsigned card) {
    const struct dingo_request request = {.type = DINGO_UVERBS_RDMA_CM_JOIN};
    struct dingo_answer answer;
    char path[PATH_MAX];

    for (unsigned other = 0; card_path(other, path); other++) {
        int joins = other == card ? -1 : connect_to(path, O_CLOEXEC);

        if (joins >= 0) {
            /* errors are ignored: the other card may have died */
            (void)dingo_request_with(fd, &request, joins, &answer);
            dingo_answer_close(&answer);
            dingo_sys_close(joins);
        }
    }
}

static uint32_t take_token(int fd) {
    char token;

    return DINGO_SYS(SYS_recvfrom, fd, &token, sizeof(token), MSG_DONTWAIT, NULL, NULL) ==
                   sizeof(token)
               ? DINGO_UVERBS_TOKEN
               : 0;
}

/* Waits until an event may be queued. Uses libc's recv(), so that signals, O_NONBLOCK and
 * cancellation act as on a write() that blocks in the kernel. */
static long wait_for_token(int fd) {
    int saved = errno;
    char token;
    ssize_t got = recv(fd, &token, sizeof(token), MSG_PEEK);
    long result = got > 0 ? 0 : got < 0 && errno != ECONNRESET ? -errno : -EIO;

    errno = saved;
    return result;
}

/* Removes a token without an event, as poll() would report an event otherwise. Tells the card,
 * because another event may have arrived meanwhile. */
static void take_out_idle(int fd) {
    struct dingo_request request = {.type = DINGO_UVERBS_RDMA_CM, .flags = DINGO_UVERBS_TOKEN};
    struct dingo_answer answer;
    long result;

    while (take_token(fd)) {
        result = dingo_request(fd, &request, &answer);
        dingo_answer_close(&answer);
        if (result < 0 || !(answer.reply.idle_token & DINGO_UVERBS_IDLE_HERE)) {
            return;
        }
    }
}

/* Returns the descriptor from which MIGRATE_ID takes the identifier. */
static int left_descriptor(const void* data, size_t bytes) {
    struct rdma_ucm_migrate_id migrate;

    if (bytes < sizeof(struct rdma_ucm_cmd_hdr) + sizeof(migrate)) {
        return -1;
    }
    return dingo_copy_from(&migrate, (const char*)data + sizeof(struct rdma_ucm_cmd_hdr),
                           sizeof(migrate)) < 0
               ? -1
               : (int)migrate.fd;
}

static long command_once(int fd, uint32_t command, const void* data, size_t bytes) {
    struct dingo_request request = {.type = DINGO_UVERBS_RDMA_CM,
                                    .arg = (uintptr_t)data,
                                    .payload = data,
                                    .payload_len = bytes};
    struct dingo_answer answer;
    long result;

    request.flags = command == RDMA_USER_CM_CMD_GET_EVENT ? take_token(fd) : 0;
    answer.reply.idle_token = 0;
    result = dingo_request(fd, &request, &answer);
    dingo_answer_close(&answer);
    if (DINGO_UNLIKELY(answer.reply.idle_token & DINGO_UVERBS_IDLE_HERE)) {
        take_out_idle(fd);
    }
    if (DINGO_UNLIKELY(answer.reply.idle_token & DINGO_UVERBS_IDLE_LEFT)) {
        int left = left_descriptor(data, bytes);

        if (dingo_fd_kind(dingo_fd_entry(left)) == DINGO_FD_RDMA_CM) {
            take_out_idle(left);
        }
    }
    return result;
}

static void release(void* held) {
    int fd = *(int*)held;

    /* unless the application has replaced it by dup2() or closed it */
    if (dingo_fd_kind(dingo_fd_entry(fd)) == DINGO_FD_HELD) {
        dingo_fd_forget(fd);
        if (dingo_fd_is_connection(fd)) {
            dingo_sys_close(fd);
        }
    }
}

/* A write() that blocks in the kernel holds a reference to its file, so close() in another
 * thread does not end it. Programs rely on that, so this waits on a copy of the descriptor. */
static long get_event(int fd, const void* data, size_t bytes) {
    int held;
    long result = dingo_hello(fd, false, NULL);

    if (result < 0) {
        return result;
    }
    held = (int)DINGO_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (held < 0) {
        return held;
    }
    if (!dingo_fd_set(held, DINGO_FD_HELD, *dingo_fd_hello(fd))) {
        dingo_sys_close(held);
        return -EMFILE;
    }
    pthread_cleanup_push(release, &held);
    do {
        result = command_once(held, RDMA_USER_CM_CMD_GET_EVENT, data, bytes);
    } while (result == -EAGAIN && (result = wait_for_token(held)) == 0);
    pthread_cleanup_pop(1);
    return result;
}

long dingo_rdma_cm_write(int fd, const void* data, size_t bytes) {
    struct rdma_ucm_cmd_hdr head = {.cmd = ~0u};

    if (bytes >= sizeof(head) && dingo_copy_from(&head, data, sizeof(head)) < 0) {
        return -EFAULT;
    }
    return head.cmd == RDMA_USER_CM_CMD_GET_EVENT ? get_event(fd, data, bytes)
                                                  : command_once(fd, head.cmd, data, bytes);
}
