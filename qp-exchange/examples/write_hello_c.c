/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_hello.cpp in C; the two meet each other as well. usage: write_hello_c [HOST [DEVICE]]
 * docs/tutorials/connect-two-processes.md explains it.
 */
#include <infiniband/verbs.h>
#include <qpx/qpx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char memory[4096];

static void fail(const char* what, const char* why) {
    fprintf(stderr, "write_hello_c: %s: %s\n", what, why);
    exit(1);
}

/* Checks the status of a qpx call. qpx's own text says what happened and what to do. */
static void good(int status) {
    if (status < 0)
        fail(qpx_strerror(status), qpx_last_error());
}

static void* need(void* object, const char* what) {
    if (!object)
        fail(what, "failed");
    return object;
}

static struct ibv_context* open_device(const char* wanted) {
    struct ibv_device** list = need(ibv_get_device_list(NULL), "ibv_get_device_list");
    struct ibv_context* context = NULL;

    for (int i = 0; list[i] && !context; i++) {
        if (!wanted || strcmp(ibv_get_device_name(list[i]), wanted) == 0)
            context = need(ibv_open_device(list[i]), "ibv_open_device");
    }
    ibv_free_device_list(list);
    return need(context, "opening a device: no RDMA device has that name");
}

static qpx_connection* meet(const char* host) {
    struct qpx_options options = QPX_OPTIONS_INIT;
    qpx_connection* peer = NULL;
    qpx_listener* listener = NULL;
    char url[300];

    options.retry_refused = 1;
    snprintf(url, sizeof(url), host && strchr(host, ':') ? "tcp://[%s]:18600" : "tcp://%s:18600",
             host ? host : "");
    if (host) {
        good(qpx_connect(url, &options, &peer));
    } else {
        good(qpx_listen(url, &options, &listener));
        good(qpx_accept(listener, 10000, &peer));
        qpx_listener_close(listener);
    }
    return peer;
}

static void write_to(struct ibv_qp* qp, struct ibv_cq* cq, const struct ibv_mr* mr,
                     const struct qpx_region* inbox) {
    struct ibv_sge sge = {(uintptr_t)memory, sizeof(memory), mr->lkey};
    struct ibv_send_wr wr, *bad;
    struct ibv_wc done;

    memset(&wr, 0, sizeof(wr));
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = inbox->address;
    wr.wr.rdma.rkey = inbox->rkey;
    if (ibv_post_send(qp, &wr, &bad))
        fail("ibv_post_send", "failed");
    while (ibv_poll_cq(cq, 1, &done) == 0) {
    }
    if (done.status != IBV_WC_SUCCESS)
        fail("RDMA WRITE", ibv_wc_status_str(done.status));
}

int main(int argc, char** argv) {
    const char* host = argc > 1 && *argv[1] ? argv[1] : NULL;
    /* Plain verbs: a device, a completion queue, memory, a queue pair. */
    struct ibv_context* context = open_device(argc > 2 ? argv[2] : NULL);
    struct ibv_pd* pd = need(ibv_alloc_pd(context), "ibv_alloc_pd");
    struct ibv_cq* cq = need(ibv_create_cq(context, 16, NULL, NULL, 0), "ibv_create_cq");
    struct ibv_mr* mr = need(
        ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
        "ibv_reg_mr");
    struct ibv_qp_init_attr wanted;
    memset(&wanted, 0, sizeof(wanted));
    wanted.send_cq = wanted.recv_cq = cq;
    wanted.cap.max_send_wr = 16;
    wanted.cap.max_recv_wr = wanted.cap.max_send_sge = wanted.cap.max_recv_sge = 1;
    wanted.qp_type = IBV_QPT_RC;
    struct ibv_qp* qp = need(ibv_create_qp(pd, &wanted), "ibv_create_qp");

    /* qp-exchange: find the peer, tell it of the queue pair, take it to RTS. */
    qpx_connection* peer = meet(host);
    struct qpx_region inbox = {(uintptr_t)memory, sizeof(memory), mr->rkey, "inbox"};
    struct qpx_endpoint local, *remote;
    size_t count;
    int gid_index;

    good(qpx_describe(qp, 1, -1, peer, &local, &gid_index));
    local.regions = &inbox;
    local.region_count = 1;
    good(qpx_exchange(peer, &local, 1, &remote, &count));
    good(qpx_connect_qp(qp, &local, gid_index, remote));
    good(qpx_barrier(peer));

    /* And write. */
    if (host) {
        strcpy(memory, "hello from the client's memory");
        if (remote->region_count == 0)
            fail("the peer", "sent no memory region");
        write_to(qp, cq, mr, &remote->regions[0]);
    }
    good(qpx_barrier(peer)); /* the client's completion came before: the bytes are there */
    printf("%s %s (%s): %s\n", host ? "written to" : "from", qpx_peer_name(peer),
           qpx_secure(peer) ? "encrypted" : "not encrypted", memory);

    qpx_endpoints_free(remote, count);
    qpx_close(peer);
    ibv_destroy_qp(qp);
    ibv_dereg_mr(mr);
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return 0;
}
