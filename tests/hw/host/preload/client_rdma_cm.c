/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

static void* get_event(void* cm) {
    struct {
        struct rdma_ucm_cmd_hdr head;
        struct rdma_ucm_get_event event;
    } request;

    memset(&request, 0, sizeof(request));
    request.head.cmd = RDMA_USER_CM_CMD_GET_EVENT;
    request.head.in = sizeof(request.event);
    CHECK(write(*(int*)cm, &request, sizeof(request)) == sizeof(request));
    return NULL;
}

/* Returns how many descriptors of this process refer to the same file as `fd`. */
static int same_file(int fd) {
    DIR* all = opendir("/proc/self/fd");
    char path[64], file[64] = "", other[64];
    struct dirent* entry;
    int count = 0;

    CHECK(all);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK(readlink(path, file, sizeof(file) - 1) > 0);
    while ((entry = readdir(all))) {
        memset(other, 0, sizeof(other));
        if (readlinkat(dirfd(all), entry->d_name, other, sizeof(other) - 1) > 0 &&
            strcmp(file, other) == 0) {
            count++;
        }
    }
    closedir(all);
    return count;
}

/* As in the kernel, a waiting GET_EVENT gets the next event even if the descriptor is closed. */
void client_event_after_close(void) {
    int card = open_card();
    int cm = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
    pthread_t waiter;
    int status = 1;
    pid_t child;

    CHECK(cm >= 0);
    CHECK(pthread_create(&waiter, NULL, get_event, &cm) == 0);
    while (method(card, CM_WAITING, 0, 0, 0) == 0) {
        usleep(1000);
    }
    CHECK(same_file(cm) == 2);
    CHECK(method(card, MEMORY_KIND, 0, 0, 0) == 1);
    CHECK(write(cm, NULL, 24) < 0 && errno == EFAULT);
    child = fork();
    if (child == 0) {
        CHECK(same_file(cm) == 1);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(close(cm) == 0 && fcntl(cm, F_GETFD) < 0);
    closefrom(card + 1);
    CHECK(method(card, CM_EVENT, 0, 0, 0) == 0);
    CHECK(pthread_join(waiter, NULL) == 0);
}

static int readable(int fd) {
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    return poll(&polled, 1, 0);
}

/* The event of an identifier arrives just when the identifier is destroyed or migrated. */
void client_idle_token(void) {
    struct {
        struct rdma_ucm_cmd_hdr head;
        union {
            struct rdma_ucm_destroy_id destroy;
            struct rdma_ucm_migrate_id migrate;
        } what;
    } request;
    int card = open_card();
    int cm = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);

    CHECK(cm >= 0);
    memset(&request, 0, sizeof(request));
    request.head.cmd = RDMA_USER_CM_CMD_DESTROY_ID;
    request.head.in = sizeof(request.what.destroy);
    CHECK(write(cm, &request, sizeof(request)) == sizeof(request));
    CHECK(readable(cm) == 0);
    CHECK(method(card, CM_GIVEN_BACK, 0, 0, 0) == 1);

    request.head.cmd = RDMA_USER_CM_CMD_MIGRATE_ID;
    request.head.in = sizeof(request.what.migrate);
    request.what.migrate.fd = (uint32_t)cm;
    CHECK(write(cm, &request, sizeof(request)) == sizeof(request));
    CHECK(readable(cm) == 0);
    CHECK(method(card, CM_GIVEN_BACK, 0, 0, 0) == 2);

    request.what.migrate.fd = (uint32_t)card; /* not a descriptor of rdma_cm: left alone */
    CHECK(write(cm, &request, sizeof(request)) == sizeof(request));
    request.what.migrate.fd = ~0u;
    CHECK(write(cm, &request, sizeof(request)) == sizeof(request));
    CHECK(method(card, CM_GIVEN_BACK, 0, 0, 0) == 2);
}
