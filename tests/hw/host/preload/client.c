/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* `room`: bytes at each address in data, 0 if there is none; `id`: id of the first attribute. */
static int call(int fd, int number, uint64_t a, uint64_t b, uint64_t c, uint16_t room,
                uint16_t id) {
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
    request.attrs[0].len = request.attrs[1].len = room;
    request.attrs[0].attr_id = id;
    request.attrs[1].attr_id = UVERBS_ATTR_UHW_OUT; /* an answer in every method */
    return ioctl(fd, RDMA_VERBS_IOCTL, &request);
}

int method(int fd, int number, uint64_t a, uint64_t b, uint64_t c) {
    return call(fd, number, a, b, c, 0, 0);
}

int echo_at(int fd, const void* in, void* out) {
    return call(fd, ECHO, (uintptr_t)in, (uintptr_t)out, 0, ROOM, UVERBS_ATTR_UHW_IN);
}

int method_at(int fd, int number, uint64_t a, uint64_t b) {
    return call(fd, number, a, b, 0, ROOM, UVERBS_ATTR_UHW_OUT);
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
    CASE(reused),
    CASE(hello_in_flight),
    CASE(fork),
    CASE(vfork),
    CASE(exec),
    CASE(threads),
    CASE(netlink),
    CASE(foreign),
    CASE(foreign_refused),
    CASE(foreign_steals),
    CASE(foreign_rdma_cm),
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
    CASE(share_file_limit),
    CASE(share_gives_back),
    CASE(adopt),
    CASE(share_close_all),
    CASE(share_many),
    CASE(share_many_large),
    CASE(share_inside),
    CASE(share_populates),
    CASE(share_pinned),
    CASE(share_gpu),
    CASE(share_gpu_loads),
    CASE(share_cuda),
    CASE(share_file),
    CASE(share_file_unprivileged),
    CASE(share_file_locks),
};

/* Makes PROCMAP_QUERY fail, as on kernels before 6.11. */
static void forbid_query(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc0686611, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char** argv) {
    if (getenv("OLD_KERNEL")) {
        forbid_query();
    }
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, argv[1]) == 0) {
            alarm(60);
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: preload_client CASE\n");
    return 2;
}
