/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int method(int fd, int number, uint64_t a, uint64_t b, uint64_t c) {
    struct {
        struct ib_uverbs_ioctl_hdr head;
        struct ib_uverbs_attr attrs[3];
    } request;

    memset(&request, 0, sizeof(request));
    request.head.length = sizeof(request);
    request.head.method_id = (uint16_t)number;
    request.head.num_attrs = 3;
    request.attrs[0].data = a;
    request.attrs[1].data = b;
    request.attrs[2].data = c;
    return ioctl(fd, RDMA_VERBS_IOCTL, &request);
}

int open_card(void) {
    int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);

    CHECK(fd >= 0);
    return fd;
}

void share(int fd, void* at, size_t length, int bytes) {
    int shared = method(fd, SHARE, (uintptr_t)at, length, 1);

    if (shared != bytes) {
        fprintf(stderr, "%d bytes shared, not %d\n", shared, bytes);
        exit(1);
    }
}

#define CASE(name) \
    { #name, client_##name }
static const struct {
    const char* name;
    void (*run)(void);
} cases[] = {
    CASE(paths),
    CASE(paths_at),
    CASE(stat),
    CASE(counters),
    CASE(gids),
    CASE(ioctl),
    CASE(write),
    CASE(mmap),
    CASE(channels),
    CASE(dead_card),
    CASE(need_fd),
    CASE(dup_close),
    CASE(fork),
    CASE(vfork),
    CASE(exec),
    CASE(threads),
    CASE(netlink),
    CASE(event_after_close),
    CASE(idle_token),
    CASE(share_keeps),
    CASE(share_partial),
    CASE(share_faults),
    CASE(share_threads),
    CASE(share_fork),
    CASE(share_dontfork),
    CASE(share_dontneed),
    CASE(share_realloc),
    CASE(share_mremap),
    CASE(share_stack),
    CASE(share_gives_back),
    CASE(adopt),
    CASE(share_close_all),
};

int main(int argc, char** argv) {
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, argv[1]) == 0) {
            alarm(30);
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: preload_client CASE\n");
    return 2;
}
