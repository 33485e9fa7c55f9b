/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that blocks a thread of its card: it reads events of a channel into memory whose page
 * faults (userfaultfd) it does not resolve. Prints "holding" and sleeps. Exit status 77: no
 * userfaultfd.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEED(what)                             \
    do {                                       \
        if (!(what)) {                         \
            fprintf(stderr, "no %s\n", #what); \
            exit(1);                           \
        }                                      \
    } while (0)

static void* trap;
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;

static int make_trap(void) {
    struct uffdio_api api = {.api = UFFD_API};
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) {
        exit(77);
    }
    trap = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    range.range.start = (unsigned long)trap;
    range.range.len = 4096;
    NEED(ioctl(faults, UFFDIO_REGISTER, &range) == 0);
    return faults;
}

static void* read_events(void* unused) {
    NEED(read(channel->fd, trap, 4096) < 0);
    return unused;
}

static void* destroy(void* unused) {
    (void)ibv_destroy_cq(cq);
    return unused;
}

int main(void) {
    struct ibv_device** list = ibv_get_device_list(NULL);
    struct pollfd fault = {.fd = make_trap(), .events = POLLIN};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_recv_wr empty = {.num_sge = 0}, *bad;
    struct ibv_context* context;
    struct ibv_pd* pd;
    struct ibv_qp* qp;
    pthread_t thread;

    NEED(list && list[0]);
    NEED(context = ibv_open_device(list[0]));
    NEED(pd = ibv_alloc_pd(context));
    NEED(channel = ibv_create_comp_channel(context));
    NEED(cq = ibv_create_cq(context, 4, NULL, channel, 0));
    init.send_cq = init.recv_cq = cq;
    NEED(qp = ibv_create_qp(pd, &init));
    NEED(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    NEED(ibv_req_notify_cq(cq, 0) == 0);
    NEED(ibv_post_recv(qp, &empty, &bad) == 0);
    attr.qp_state = IBV_QPS_ERR; /* flushes the receive */
    NEED(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
    NEED(pthread_create(&thread, NULL, read_events, NULL) == 0);
    NEED(poll(&fault, 1, 10000) == 1);
    NEED(ibv_destroy_qp(qp) == 0);
    NEED(pthread_create(&thread, NULL, destroy, NULL) == 0);
    sleep(1);
    printf("holding\n");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
