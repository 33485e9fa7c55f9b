// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes many objects of each kind, moves data between its queue pairs, and destroys everything, in
 * an endless loop: a victim to kill at any moment. With "once" it does this one time, prints how
 * each failed call failed, and exits with status 0 unless a call failed without an errno: the card
 * may refuse or lose any command meanwhile.
 *
 * usage: verbs_churn DEVICE GID-INDEX [once]
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define QPS 16 /* connected in pairs */
#define CQS 4
#define MRS 64
#define MWS 8
#define AHS 8
#define BYTES 65536UL
#define POLL_SECONDS 40 /* longer than an admin command may take */

struct objects {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[CQS];
	struct ibv_srq *srq;
	struct ibv_qp *qp[QPS];
	struct ibv_qp *ud;
	struct ibv_mr *mr[MRS];
	struct ibv_mw *mw[MWS];
	struct ibv_ah *ah[AHS];
	union ibv_gid gid, group;
	int gid_index;
	uint8_t *memory; /* MRS * BYTES */
};

static bool once;
static int failures, wordless;

/* Returns true if the call succeeded. error: its result: 0, an errno, or -1 with errno set. */
static bool done(const char *what, int error)
{
	if (!error)
		return true;
	if (error < 0)
		error = errno;
	failures++;
	if (error <= 0)
		wordless++;
	if (once)
		printf("%s: %s\n", what, error > 0 ? strerror(error) : "failed without a reason");
	return false;
}

#define MADE(what, expression) (errno = 0, done(what, (expression) ? 0 : -1))
#define DONE(what, expression) (errno = 0, done(what, expression))

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int n;

	errno = ENODEV;
	for (n = 0; list && list[n]; n++)
		if (!strcmp(ibv_get_device_name(list[n]), name))
			context = ibv_open_device(list[n]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static bool connect_qp(struct objects *o, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	if (!DONE("modify QP to INIT", ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
						      IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)))
		return false;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = o->gid, .hop_limit = 64, .sgid_index = o->gid_index },
		},
	};
	if (!DONE("modify QP to RTR",
		  ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER)))
		return false;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4,
	};
	return DONE("modify QP to RTS",
		    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static struct ibv_qp *make_qp(struct objects *o, unsigned int n, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = o->cq[n % CQS],
		.recv_cq = o->cq[(n + 1) % CQS],
		.srq = n % 3 || type == IBV_QPT_UD ? NULL : o->srq,
		.cap = { .max_send_wr = 64, .max_recv_wr = n % 3 ? 64 : 0,
			 .max_send_sge = 2, .max_recv_sge = n % 3 ? 2 : 0 },
		.qp_type = type,
	};

	return init.send_cq && init.recv_cq ? ibv_create_qp(o->pd, &init) : (errno = EINVAL, NULL);
}

static void make_queues(struct objects *o)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 256, .max_sge = 2 } };
	unsigned int n;

	if (MADE("comp channel", o->channel = ibv_create_comp_channel(o->context)))
		for (n = 0; n < CQS; n++)
			MADE("create CQ", o->cq[n] = ibv_create_cq(o->context, 100 << n, NULL,
								    n % 2 ? o->channel : NULL, 0));
	if (MADE("create SRQ", o->srq = ibv_create_srq(o->pd, &srq))) {
		srq.attr.srq_limit = 10;
		DONE("modify SRQ", ibv_modify_srq(o->srq, &srq.attr, IBV_SRQ_LIMIT));
		DONE("query SRQ", ibv_query_srq(o->srq, &srq.attr));
	}
	for (n = 0; n < QPS; n++)
		MADE("create QP", o->qp[n] = make_qp(o, n, IBV_QPT_RC));
	for (n = 0; n < QPS; n++)
		if (o->qp[n] && o->qp[n ^ 1])
			connect_qp(o, o->qp[n], o->qp[n ^ 1]->qp_num);
}

/* Makes a UD queue pair in a multicast group. */
static void make_ud(struct objects *o)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111 };

	if (!MADE("create UD QP", o->ud = make_qp(o, 1, IBV_QPT_UD)))
		return;
	DONE("modify UD QP", ibv_modify_qp(o->ud, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					    IBV_QP_PORT | IBV_QP_QKEY));
	DONE("attach multicast", ibv_attach_mcast(o->ud, &o->group, 0xc000));
}

static void make_memory(struct objects *o)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_ah_attr ah = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = o->gid, .hop_limit = 64, .sgid_index = o->gid_index },
	};
	unsigned int n;

	for (n = 0; n < MRS; n++)
		MADE("register MR", o->mr[n] = ibv_reg_mr(o->pd, o->memory + n * BYTES, BYTES, access));
	if (o->mr[0])
		DONE("reregister MR", ibv_rereg_mr(o->mr[0], IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
						   access | IBV_ACCESS_REMOTE_ATOMIC) ? -1 : 0);
	for (n = 0; n < MWS; n++)
		MADE("allocate MW", o->mw[n] = ibv_alloc_mw(o->pd, IBV_MW_TYPE_2));
	for (n = 0; n < AHS; n++)
		MADE("create AH", o->ah[n] = ibv_create_ah(o->pd, &ah));
}

static void make(struct objects *o)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	DONE("query device", ibv_query_device(o->context, &device));
	DONE("query port", ibv_query_port(o->context, 1, &port));
	DONE("query GID", ibv_query_gid(o->context, 1, o->gid_index, &o->gid));
	o->group.raw[0] = 0xff;
	o->group.raw[1] = 0x0e;
	o->group.raw[15] = 7;
	if (!MADE("allocate PD", o->pd = ibv_alloc_pd(o->context)))
		return;
	make_queues(o);
	make_ud(o);
	make_memory(o);
}

/* Posts one WRITE on each queue pair that is complete. */
static void move_data(struct objects *o)
{
	unsigned int n, posted[CQS] = {};
	time_t end = time(NULL) + POLL_SECONDS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int got;

	for (n = 0; n < QPS; n++) {
		struct ibv_mr *from = o->mr[2 * n], *to = o->mr[2 * n + 1];

		if (!o->qp[n] || !from || !to)
			continue;
		if (!DONE("query QP", ibv_query_qp(o->qp[n], &attr, IBV_QP_STATE, &init)) ||
		    attr.qp_state != IBV_QPS_RTS)
			continue;
		struct ibv_sge sge = { (uintptr_t)from->addr, BYTES, from->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = (uintptr_t)to->addr, .rkey = to->rkey },
		};

		if (DONE("post WRITE", ibv_post_send(o->qp[n], &wr, &bad)))
			posted[n % CQS]++;
	}
	for (n = 0; n < CQS; n++) {
		while (posted[n]) {
			got = ibv_poll_cq(o->cq[n], 1, &wc);
			if (got < 0 || time(NULL) > end) {
				done("poll CQ", got < 0 ? EIO : ETIMEDOUT);
				break;
			}
			if (got && wc.status != IBV_WC_SUCCESS)
				done(ibv_wc_status_str(wc.status), EIO);
			posted[n] -= got;
		}
	}
	if (o->cq[0])
		DONE("resize CQ", ibv_resize_cq(o->cq[0], 1000));
}

static void unmake(struct objects *o)
{
	unsigned int n;

	for (n = 0; n < AHS; n++)
		if (o->ah[n])
			DONE("destroy AH", ibv_destroy_ah(o->ah[n]));
	for (n = 0; n < MWS; n++)
		if (o->mw[n])
			DONE("deallocate MW", ibv_dealloc_mw(o->mw[n]));
	for (n = 0; n < MRS; n++)
		if (o->mr[n])
			DONE("deregister MR", ibv_dereg_mr(o->mr[n]));
	if (o->ud) {
		DONE("detach multicast", ibv_detach_mcast(o->ud, &o->group, 0xc000));
		DONE("destroy UD QP", ibv_destroy_qp(o->ud));
	}
	for (n = 0; n < QPS; n++)
		if (o->qp[n])
			DONE("destroy QP", ibv_destroy_qp(o->qp[n]));
	if (o->srq)
		DONE("destroy SRQ", ibv_destroy_srq(o->srq));
	for (n = 0; n < CQS; n++)
		if (o->cq[n])
			DONE("destroy CQ", ibv_destroy_cq(o->cq[n]));
	if (o->channel)
		DONE("destroy comp channel", ibv_destroy_comp_channel(o->channel));
	if (o->pd)
		DONE("deallocate PD", ibv_dealloc_pd(o->pd));
	DONE("close device", ibv_close_device(o->context));
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "once"))) {
		fprintf(stderr, "usage: %s DEVICE GID-INDEX [once]\n", argv[0]);
		return 2;
	}
	once = argc == 4;
	setvbuf(stdout, NULL, _IOLBF, 0);
	do {
		struct objects o = { .gid_index = atoi(argv[2]) };

		o.memory = mmap(NULL, MRS * BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (o.memory == MAP_FAILED)
			return 2;
		if (MADE("open device", o.context = open_device(argv[1]))) {
			make(&o);
			move_data(&o);
			unmake(&o);
		}
		munmap(o.memory, MRS * BYTES);
		if (!once && failures)
			return 1;
	} while (!once);
	printf("%d calls failed, %d of them without a reason\n", failures, wordless);
	return wordless ? 1 : 0;
}
