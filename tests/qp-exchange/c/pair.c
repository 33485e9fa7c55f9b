/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects the queue pairs of two hosts by the C interface. Each side sends the other a message and
 * prints the addresses used. Needs a device: tests/qp-exchange/cases/vlans.sh.
 *
 * usage: qpx_c_pair [-c] [-m] [-r] [HOST]; listens if HOST is missing
 *
 * -c: each side uses the GID that it chose on its own; no candidates are sent
 * -m: uses the GID of the address over which the two are connected
 * -r: changes the queue pair's states by verbs, with the result of qpx_agree()
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <qpx/qpx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char memory[4096];
static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_mr* mr;

static void die(const char* what) {
    fprintf(stderr, "qpx_c_pair: %s: %s\n", what, qpx_last_error());
    exit(1);
}

static struct ibv_qp* create(void) {
    struct ibv_qp_init_attr init;
    struct ibv_device** list = ibv_get_device_list(NULL);

    memset(&init, 0, sizeof(init));
    context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    pd = context ? ibv_alloc_pd(context) : NULL;
    cq = context ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
    mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) : NULL;
    if (!cq || !mr)
        die("no device");
    ibv_free_device_list(list);
    init.send_cq = init.recv_cq = cq;
    init.cap.max_send_wr = init.cap.max_recv_wr = 4;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.qp_type = IBV_QPT_RC;
    return ibv_create_qp(pd, &init);
}

static void post_receive(struct ibv_qp* qp) {
    struct ibv_sge sge = {(uintptr_t)memory + 2048, 1024, mr->lkey};
    struct ibv_recv_wr wr, *bad;

    memset(&wr, 0, sizeof(wr));
    wr.sg_list = &sge;
    wr.num_sge = 1;
    if (ibv_post_recv(qp, &wr, &bad))
        die("ibv_post_recv");
}

static void post_send(struct ibv_qp* qp) {
    struct ibv_sge sge = {(uintptr_t)memory, 64, mr->lkey};
    struct ibv_send_wr wr, *bad;

    memset(&wr, 0, sizeof(wr));
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (ibv_post_send(qp, &wr, &bad))
        die("ibv_post_send");
}

static void wait_for(int completions) {
    struct ibv_wc wc;

    while (completions > 0) {
        const int got = ibv_poll_cq(cq, 1, &wc);

        if (got < 0 || (got > 0 && wc.status != IBV_WC_SUCCESS)) {
            fprintf(stderr, "qpx_c_pair: completion: %s\n",
                    got < 0 ? "none" : ibv_wc_status_str(wc.status));
            exit(1);
        }
        completions -= got;
    }
}

/* Changes the states as a program with its own state changes does. */
static int to_rts(struct ibv_qp* qp, const struct qpx_endpoint* local,
                  const struct qpx_endpoint* remote, int index, const uint8_t* theirs) {
    struct ibv_qp_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.qp_state = IBV_QPS_RTR;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = local->port;
    attr.ah_attr.grh.sgid_index = (uint8_t)index;
    attr.ah_attr.grh.hop_limit = 64;
    memcpy(attr.ah_attr.grh.dgid.raw, theirs, 16);
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = remote->qpn;
    attr.rq_psn = remote->psn;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    if (ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        return -1;
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.sq_psn = local->psn;
    attr.max_rd_atomic = 1;
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static qpx_connection* meet(const char* host) {
    struct qpx_options options = QPX_OPTIONS_INIT;
    qpx_listener* listener = NULL;
    qpx_connection* connection = NULL;
    char url[256];

    options.retry_refused = 1;
    snprintf(url, sizeof(url), "tcp://%s:18600", host ? host : "");
    if (host) {
        if (qpx_connect(url, &options, &connection))
            die(url);
        return connection;
    }
    if (qpx_listen(url, &options, &listener) || qpx_accept(listener, 20000, &connection))
        die("listen");
    qpx_listener_close(listener);
    return connection;
}

static const char* text(const uint8_t* gid, char* out) {
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(gid, mapped, 12) == 0 ? inet_ntop(AF_INET, gid + 12, out, INET6_ADDRSTRLEN)
                                        : inet_ntop(AF_INET6, gid, out, INET6_ADDRSTRLEN);
}

int main(int argc, char** argv) {
    int chosen_only = 0, meeting = 0, by_verbs = 0, option, index = -1, mine = -1;
    struct qpx_describe_options wanted = QPX_DESCRIBE_OPTIONS_INIT;
    static struct qpx_endpoint local;
    struct qpx_endpoint* remote = NULL;
    char here[INET6_ADDRSTRLEN], there[INET6_ADDRSTRLEN];
    qpx_connection* connection;
    union ibv_gid gid;
    struct ibv_qp* qp;
    uint8_t theirs[16];
    size_t count = 0;

    while ((option = getopt(argc, argv, "cmr")) != -1) {
        chosen_only |= option == 'c';
        meeting |= option == 'm';
        by_verbs |= option == 'r';
    }
    qp = create();
    if (!qp)
        die("ibv_create_qp");
    connection = meet(argv[optind]);
    if (qpx_describe_qp(qp, &wanted, meeting ? connection : NULL, &local, &index))
        die("describe");
    if (chosen_only)
        local.candidate_count = 0;
    if (qpx_exchange(connection, &local, 1, &remote, &count) || count != 1)
        die("exchange");
    if (qpx_agree(&local, index, remote, &mine, theirs))
        die("agree");
    if (ibv_query_gid(context, 1, mine, &gid))
        die("ibv_query_gid");
    if (qpx_init_qp(qp, &local, NULL))
        die("init");
    post_receive(qp);
    if (by_verbs ? to_rts(qp, &local, remote, mine, theirs)
                 : qpx_connect_qp(qp, &local, index, remote))
        die("connect");
    if (qpx_barrier(connection))
        die("barrier");
    snprintf(memory, 64, "from %s", text(gid.raw, here));
    post_send(qp);
    wait_for(2);
    snprintf(memory, 64, "from %s", text(theirs, there));
    if (strcmp(memory, memory + 2048) != 0)
        die("the message is another one");
    printf("messages between %s and %s\n", here, there);
    if (qpx_barrier(connection))
        die("barrier");
    qpx_endpoints_free(remote, count);
    qpx_close(connection);
    ibv_destroy_qp(qp);
    ibv_dereg_mr(mr);
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return 0;
}
